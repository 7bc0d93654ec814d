import { readDoor, withoutDoors } from "../../release/doors.ts";
import { isCode, parse, resolveImport, type Source, type Violation } from "./source.ts";
import { isRuntime, packageOf } from "./vendors.ts";

/** What `svc` loads before it knows which command is meant: everything else waits for the command. */
const packages = ["citty", "consola", "fastest-levenshtein"];

/** What a peel needs while nobody asks for anything: the rest would only take memory on every host. */
const packagesOfPeel = ["consola", "croner", "fastest-levenshtein", "js-yaml", "msgpackr", "nats"];

/** Files whose load time people wait for, or whose memory every host has, with the packages that they may load. */
export const starts: readonly Start[] = [
  { first: "cmd/svc/main.ts", packages },
  // Offline, so without the client of the bus.
  { first: "internal/cli/ca/commands.ts", packages },
  { first: "internal/agent/daemon/daemon.ts", packages: [...packagesOfPeel, "nkeys.js", "valibot"] },
];

interface Start {
  first: string;
  packages: readonly string[];
}

/** Packages that a start loads without need, with the way from one file to the next. Doors are passed, as in executables. */
export function checkStart(sources: Source[], { first, packages }: Start): Violation[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const trails = new Map<string, readonly string[]>([[first, []]]);
  const found = new Map<string, Violation>();
  const behind = (door: string) => readDoor(door, byPath.get(door)?.text ?? "");
  for (const [path, trail] of trails) {
    const source = byPath.get(path);
    if (source === undefined || !isCode(source)) continue;
    const text = withoutDoors(path, source.text, behind);
    for (const specifier of parse({ path, text }).loads) {
      const target = resolveImport(path, specifier);
      if (target !== undefined && !trails.has(target)) trails.set(target, [...trail, path]);
      if (target !== undefined || isRuntime(specifier) || packages.includes(packageOf(specifier))) continue;
      const way = [...trail, path].join(" -> ");
      found.set(specifier, { path: first, problem: `loads ${specifier} at every start: ${way}` });
    }
  }
  return [...found.values()];
}
