import type { routes } from "../../api/mod.ts";

/** A role as masters show it. */
export type ShownRole = NonNullable<(typeof routes.showRoles)["types"]>["answer"]["roles"][number];

/** One line of what a role allows. */
export interface Rule {
  /** `jobs run state.apply, test.*` */
  may: string;
  /** A target expression; absent for what is about no peel. */
  on?: string;
  /** The state files that it may run: `newest of base`; absent for what runs none. */
  files?: string;
  /** How many others must agree. */
  approvals: number;
}

/** All that a role allows; actions of a kind that need the same agreement are one line. */
export function rulesOf({ jobs, may }: ShownRole): Rule[] {
  const runs = jobs.map(({ functions, targets, environments, commits, approvals }) => ({
    may: `jobs run ${functions.join(", ")}`,
    on: targets,
    files: `${commits === "any" ? "any commit" : "newest"} of ${environments.join(", ")}`,
    approvals,
  }));
  const same = Map.groupBy(may, ({ kind, approvals }) => `${kind} ${approvals}`);
  const others = [...same.values()].flatMap((grants) => {
    const [first] = grants;
    if (first === undefined) return [];
    const actions = grants.map(({ action }) => action).join(", ");
    return { may: `${first.kind} ${actions}`, approvals: first.approvals };
  });
  return [...runs, ...others];
}

/** What a role is about, in a few words: `jobs, rollouts, audit`. */
export const kindsOf = ({ jobs, may }: ShownRole): string[] => [
  ...new Set([...jobs.map(() => "jobs"), ...may.map(({ kind }) => kind)]),
];
