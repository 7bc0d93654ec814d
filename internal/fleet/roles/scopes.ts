import { nameOfScope, type Scope } from "../operation/mod.ts";
import { builtIn } from "./built-in.ts";
import type { RoleBook } from "./role.ts";

/** What a rule of jobs is good for, whatever its functions and targets are. */
const ofJobRules: readonly Scope[] = [
  { kind: "jobs", action: "run" },
  { kind: "jobs", action: "list" },
  { kind: "jobs", action: "show" },
  { kind: "jobs", action: "cancel" },
  { kind: "facts", action: "resolve" },
];

/** An operator who may start a rollout or an upgrade may see it, as in `decide`. */
const startsRollouts: ReadonlySet<string> = new Set(["rollouts start", "upgrades start"]);

/**
 * The scopes that these roles have a rule for: outside of them, no request can be allowed. For what must be decided
 * before there is a request, such as the subjects of an operator.
 *
 * @param names of roles; unknown ones have none
 * @returns names of scopes, each once: `jobs run`
 */
export function scopesOf(book: RoleBook, names: readonly string[]): string[] {
  const found = names
    .flatMap((name) => book.get(name) ?? [])
    .flatMap(({ jobs, grants }) => [
      ...(jobs.length === 0 ? [] : ofJobRules.map(nameOfScope)),
      ...grants.map(({ kind, action }) => nameOfScope({ kind, action } as Scope)),
    ]);
  const sees = found.some((scope) => startsRollouts.has(scope)) ? ["rollouts show"] : [];
  return [...new Set([...found, ...sees])];
}

/** The scopes of built-in roles, for where there is no master whose file could have others. */
export const builtInScopes = (names: readonly string[]): string[] => scopesOf(builtIn, names);
