import type { ScopeKind } from "../operation/mod.ts";
import { functionsOf } from "./function-pattern.ts";
import type { Grant, JobRule, Role } from "./role.ts";

/** A rule of `jobs` as it is declared. */
export interface DeclaredJobRule {
  /** Globs of function names, each of which matches one. */
  functions: readonly string[];
  targets: string;
  approvals?: number;
  /** Its line in the file. */
  line?: number;
}

/** An action in a list; with `approvals` it is a map in the file, and a word otherwise. */
export type DeclaredWord = string | { do: string; approvals: number; line: number };

/** A role as it is declared, in a file or by this program. */
export type Declared = { readonly [K in ScopeKind]?: readonly (DeclaredJobRule | DeclaredWord)[] };

/** @param file the name of the file that declares it; absent for a built-in role */
export function roleOf(name: string, declared: Declared, file?: { name: string; line: number }): Role {
  const at = (line = file?.line) =>
    file === undefined ? `role ${name}, built in` : `role ${name}, ${file.name}:${line}`;
  const jobs: JobRule[] = [];
  const grants: Grant[] = [];
  for (const [kind, items] of Object.entries(declared)) {
    for (const item of items) {
      if (typeof item === "string") {
        grants.push({ kind: kind as ScopeKind, action: item, approvals: 0, rule: at() });
      } else if ("do" in item) {
        grants.push({
          kind: kind as ScopeKind,
          action: item.do,
          approvals: item.approvals,
          rule: at(item.line),
        });
      } else {
        jobs.push({
          patterns: item.functions,
          functions: new Set(item.functions.flatMap(functionsOf)),
          targets: item.targets,
          approvals: item.approvals ?? 0,
          rule: at(item.line),
        });
      }
    }
  }
  return { name, builtIn: file === undefined, jobs, grants };
}
