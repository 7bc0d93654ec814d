import { realpathSync } from "node:fs";
import { isAbsolute, join, resolve, sep } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno } from "../../base/files/file.ts";
import { isEnvironmentName } from "../../base/names/names.ts";
import { type MasterConfig, textsOf } from "./master-config.ts";
import type { Items } from "./report.ts";

/** The directories of one environment; a file of the first one that has it wins. */
export interface Environment {
  name: string;
  roots: string[];
}

/** Turns a path of the Salt master into one of this host. */
export type Locate = (path: string) => string;

/** @param root the directory that holds the file system of the Salt master */
export function locateBelow(root: string): Locate {
  return (path) => (root === "/" ? resolve("/", path) : join(root, resolve("/", path)));
}

/**
 * Reads `file_roots` or `pillar_roots`.
 *
 * @param usual directories of `base` when the option is not set, of which those that exist count
 */
export function readRoots(
  config: MasterConfig,
  option: "file_roots" | "pillar_roots",
  usual: readonly string[],
  { locate, items }: { locate: Locate; items: Items },
): Environment[] {
  const entry = config.keys.get(option);
  if (entry === undefined) {
    return [{ name: "base", roots: usual.map(locate).filter((path) => realOf(path) !== undefined) }];
  }
  if (entry.value.kind !== "map") {
    const { file, line } = config.placeOf(entry);
    throw new SvcError("bad_request", `${file}:${line}: ${option}: expected a map of environments`);
  }
  return entry.value.entries.flatMap((environment): Environment[] => {
    const place = config.placeOf(environment);
    const about = option === "file_roots" ? "states" : "settings";
    if (!isEnvironmentName(environment.key)) {
      items.add(
        about,
        place,
        `the environment ${JSON.stringify(environment.key)} is not copied`,
        "Name each environment, and import again",
      );
      return [];
    }
    const roots = textsOf(environment.value).flatMap((path): string[] => {
      if (!isAbsolute(path) || path.includes("__env__")) {
        items.add(
          about,
          place,
          `the directory ${path} is not copied`,
          "Copy its files to the written directory",
        );
        return [];
      }
      const found = locate(path);
      if (realOf(found) !== undefined) return [found];
      items.add(
        about,
        place,
        `the directory ${found} does not exist`,
        "Check the path, or the option --root",
      );
      return [];
    });
    return [{ name: environment.key, roots }];
  });
}

/** @throws SvcError `usage` when the result would be written into what is read, or the other way round */
export function refuseOverlap(out: string, environments: readonly Environment[]): void {
  const target = resolve(out);
  for (const root of environments.flatMap(({ roots }) => roots)) {
    const real = realOf(root) ?? root;
    for (const from of [root, real]) {
      if (isIn(target, from) || isIn(from, target)) {
        throw new SvcError(
          "usage",
          `--dir: ${out} and ${root} contain one another: choose another directory`,
        );
      }
    }
  }
}

function isIn(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT") || isErrno(thrown, "ENOTDIR")) return undefined;
    throw thrown;
  }
}
