import type { ScopeKind } from "../operation/mod.ts";
import { functionsOf } from "./function-pattern.ts";
import type { Commits, Grant, JobRule, LabelLimits, Role } from "./role.ts";

/** A rule of `jobs` as it is declared. */
export interface DeclaredJobRule {
  /** Globs of function names, each of which matches one. */
  functions: readonly string[];
  targets: string;
  /** Globs; `base` alone by default. */
  environments?: readonly string[];
  /** `newest` by default. */
  commits?: Commits;
  approvals?: number;
}

/** An action in a list; with `approvals` it is a map in the file, and a word otherwise. */
export type DeclaredWord =
  | string
  | { do: string; approvals?: number; labels?: LabelLimits; targets?: string };

/** A role as it is declared, in a file or by this program. */
export type Declared = { readonly [K in ScopeKind]?: readonly (DeclaredJobRule | DeclaredWord)[] };

/** @param placeOf where an item of a kind is declared, as `file:line` */
export function roleOf(
  name: string,
  declared: Declared,
  placeOf?: (kind: string, item: number) => string,
): Role {
  const jobs: JobRule[] = [];
  const grants: Grant[] = [];
  for (const [kind, items] of Object.entries(declared)) {
    for (const [at, item] of items.entries()) {
      const rule = `role ${name}, ${placeOf?.(kind, at) ?? "built in"}`;
      if (typeof item !== "string" && "functions" in item) {
        jobs.push({
          patterns: item.functions,
          functions: new Set(item.functions.flatMap(functionsOf)),
          targets: item.targets,
          environments: item.environments ?? ["base"],
          commits: item.commits ?? "newest",
          approvals: item.approvals ?? 0,
          rule,
        });
        continue;
      }
      const {
        do: action,
        approvals = 0,
        ...limits
      }: Exclude<DeclaredWord, string> = typeof item === "string" ? { do: item } : item;
      grants.push({ kind: kind as ScopeKind, action, approvals, ...limits, rule });
    }
  }
  return { name, builtIn: placeOf === undefined, jobs, grants };
}
