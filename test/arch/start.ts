import { isCode, parse, resolveImport, type Source, type Violation } from "./source.ts";
import { isRuntime, packageOf } from "./vendors.ts";

/** What `svc` loads before it knows which command is meant: everything else waits for the command. */
const packages = ["citty", "consola", "fastest-levenshtein"];
const first = "cmd/svc/main.ts";

/** Packages that every start of `svc` loads without need, with the way from one file to the next. */
export function checkStart(sources: Source[]): Violation[] {
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
