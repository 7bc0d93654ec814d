import { rightsToLabel } from "./label-change.ts";
import type { Maker } from "./maker.ts";
import type { RoleBook } from "./role.ts";

type Labels = Readonly<Record<string, string>>;

/** The labels that a host gets when it is admitted. */
export interface LabelsOfHost {
  /** Those of the token or the entry. */
  own: Labels;
  /** Those of its earlier enrollment, which nobody saw for this host. */
  former: Labels;
}

/**
 * Judges who made what admits a host, with the roles of now.
 *
 * @param maker absent where the record names none
 * @returns what is lacking; `undefined` when nothing is
 */
export type LacksForLabels = (maker: Maker | undefined, labels: LabelsOfHost) => Promise<string | undefined>;

/**
 * What these roles lack to give labels to a host that joins without a person who looks at it, as `enrollments label
 * team=web`; `undefined` when they lack nothing. For its own labels a token was judged when it was made, with the
 * agreement of others where the right needs it.
 *
 * @param names of the roles; absent for those who may do everything
 */
export function lacksForLabels(
  book: RoleBook,
  names: readonly string[] | undefined,
  { own, former }: LabelsOfHost,
): string | undefined {
  if (names === undefined) return undefined;
  const roles = names.flatMap((name) => book.get(name) ?? []);
  const alone = roles.map((role) => ({ ...role, grants: role.grants.filter((one) => one.approvals === 0) }));
  const earlier = Object.entries(former).filter(([name]) => !Object.hasOwn(own, name));
  for (const found of [
    rightsToLabel(roles, { set: Object.entries(own), removed: [] }),
    rightsToLabel(alone, { set: earlier, removed: [] }),
  ]) {
    if ("lacking" in found) return `enrollments label ${found.lacking}`;
  }
  return undefined;
}
