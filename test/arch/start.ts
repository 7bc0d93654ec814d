import { isCode, parse, resolveImport, type Source, type Violation } from "./source.ts";
import { isRuntime, packageOf } from "./vendors.ts";

/** What `svc` loads before it knows which command is meant: everything else waits for the command. */
const packages = ["citty", "consola", "fastest-levenshtein"];

/** Files whose load time people wait for, with the packages that they may load. */
export const starts: readonly Start[] = [
  { first: "cmd/svc/main.ts", packages },
  // Offline, so without the client of the bus. The last two stand behind doors, and an executable loads neither.
  { first: "internal/cli/ca/commands.ts", packages: [...packages, "msgpackr", "valibot"] },
];

interface Start {
  first: string;
  packages: readonly string[];
}

/** Packages that a start loads without need, with the way from one file to the next. */
export function checkStart(sources: Source[], { first, packages }: Start): Violation[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const trails = new Map<string, readonly string[]>([[first, []]]);
  const found = new Map<string, Violation>();
  for (const [path, trail] of trails) {
    const source = byPath.get(path);
    if (source === undefined || !isCode(source)) continue;
    for (const specifier of parse(source).loads) {
      const target = resolveImport(path, specifier);
      if (target !== undefined && !trails.has(target)) trails.set(target, [...trail, path]);
      if (target !== undefined || isRuntime(specifier) || packages.includes(packageOf(specifier))) continue;
      const way = [...trail, path].join(" -> ");
      found.set(specifier, { path: first, problem: `loads ${specifier} at every start: ${way}` });
    }
  }
  return [...found.values()];
}
