import { matchGlob } from "../../tree/targets/mod.ts";
import type { Scope } from "../operation/mod.ts";
import { isPlan, wordOf } from "./decide.ts";
import { usesFiles } from "./files-of-work.ts";
import { coversLabels } from "./label-change.ts";
import type { Grant, JobRule, Role, RoleBook } from "./role.ts";

/**
 * Whether these roles together allow everything that another role allows, with no more approvals. A rule of jobs is
 * covered by rules for all peels, or for the same target expression: which peels an expression means changes.
 *
 * @param names of roles; unknown ones allow nothing
 * @param role its name; an unknown one allows nothing, and so is covered
 */
export function covers(book: RoleBook, names: readonly string[], role: string): boolean {
  if (names.includes(role)) return true;
  const wanted = book.get(role);
  if (wanted === undefined) return true;
  const roles = names.flatMap((name) => book.get(name) ?? []);
  return (
    wanted.grants.every((grant) => isGranted(roles, grant)) &&
    wanted.jobs.every((rule) => isRuled(roles, rule))
  );
}

function isGranted(
  roles: readonly Role[],
  { kind, action, approvals, labels, targets = "*" }: Grant,
): boolean {
  if (isPlan({ kind, action } as Scope)) {
    return roles
      .flatMap(({ grants }) => grants)
      .filter((one) => isPlan(one as Scope))
      .some((one) => one.targets === undefined || one.targets === "*" || one.targets === targets);
  }
  if (kind === "enrollments" && action === "label") {
    return roles
      .flatMap(({ grants }) => grants)
      .some(
        (one) =>
          one.kind === kind &&
          one.action === action &&
          one.approvals <= approvals &&
          coversLabels(one.labels, labels),
      );
  }
  const found = wordOf(roles, { kind, action } as Scope);
  return found.allowed && found.approvals <= approvals;
}

function isRuled(
  roles: readonly Role[],
  { functions, targets, environments, commits, approvals }: JobRule,
): boolean {
  const rules = roles
    .flatMap(({ jobs }) => jobs)
    .filter((one) => (one.targets === "*" || one.targets === targets) && one.approvals <= approvals);
  const allows = (one: JobRule, glob: string) =>
    (one.commits === "any" || commits === "newest") &&
    one.environments.some((wider) => includesGlob(wider, glob));
  return [...functions].every((name) => {
    const ofFunction = rules.filter((one) => one.functions.has(name));
    if (!usesFiles(name)) return ofFunction.length > 0;
    return environments.every((glob) => ofFunction.some((one) => allows(one, glob)));
  });
}

/** Whether a glob certainly matches every name that another one matches. */
function includesGlob(wider: string, glob: string): boolean {
  return wider === "*" || wider === glob || (!/[*?[]/.test(glob) && matchGlob(wider, glob));
}
