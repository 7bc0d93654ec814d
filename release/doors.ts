import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { BunPlugin } from "bun";

// A room is entered by its mod.ts, which names every file that other rooms may use. An executable that loaded
// all of a room for one function would start slower, so imports of a door become imports of the files behind
// it. Every name keeps its line: stack traces stay as they are.

const importOfDoor = /import (type )?\{([^}]*)\} from "([^"]*\/mod\.ts)";/g;
const lazyImportOfDoor = /const \{ ([\w, ]+) \} = await import\("([^"]*\/mod\.ts)"\)/g;
const exportOfDoor = /export (type )?\{([^}]*)\} from "([^"]+)";/g;

/** Leads imports past the doors of the rooms while an executable is bundled. */
export function pastDoors(): BunPlugin {
  const doors = new Map<string, ReadonlyMap<string, string>>();
  const behind = (door: string) => {
    const known = doors.get(door) ?? readDoor(door, readFileSync(door, "utf8"));
    doors.set(door, known);
    return known;
  };
  return {
    name: "past-doors",
    setup(build) {
      build.onLoad({ filter: /\/(?:internal|cmd)\/.*\.ts$/ }, ({ path }) => ({
        contents: withoutDoors(path, readFileSync(path, "utf8"), behind),
        loader: "ts",
      }));
    },
  };
}

/**
 * A file with its imports of doors led to the files behind them.
 *
 * @param behind the file of each name that a door hands on, by the path of the door
 * @throws Error for a name that the door does not hand on
 */
export function withoutDoors(
  path: string,
  text: string,
  behind: (door: string) => ReadonlyMap<string, string>,
): string {
  const fileOf = (name: string, specifier: string) => {
    const file = behind(join(dirname(path), specifier)).get(name);
    if (file === undefined) throw new Error(`${path}: ${specifier} does not export ${name}`);
    const way = relative(dirname(path), file);
    return way.startsWith(".") ? way : `./${way}`;
  };
  return text
    .replace(importOfDoor, (all, type: string | undefined, names: string, specifier: string) => {
      // Types are gone in the bundle, but the lines that they stood on are not.
      const values = type === undefined ? namesIn(names).filter(({ isType }) => !isType) : [];
      const imports = values.map(({ text, name }) => `import { ${text} } from "${fileOf(name, specifier)}";`);
      return imports.join(" ") + "\n".repeat(all.split("\n").length - 1);
    })
    .replace(lazyImportOfDoor, (all, names: string, specifier: string) => {
      const files = new Set(namesIn(names).map(({ name }) => fileOf(name, specifier)));
      const [file] = files;
      // Names of several files come through the door, which a lazy import of one name never needs.
      return files.size === 1 ? `const { ${names} } = await import("${file}")` : all;
    });
}

/** The file of each name that a door hands on. @param text the text of the door */
export function readDoor(door: string, text: string): ReadonlyMap<string, string> {
  const exports = [...text.matchAll(exportOfDoor)];
  return new Map(
    exports.flatMap(([, , names = "", specifier = ""]) =>
      namesIn(names).map(({ name }) => [name, join(dirname(door), specifier)] as const),
    ),
  );
}

function namesIn(list: string): { text: string; name: string; isType: boolean }[] {
  return list
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .map((text) => {
      const isType = text.startsWith("type ");
      return { text, name: text.replace(/^type /, "").split(" as ")[0] ?? text, isType };
    });
}
