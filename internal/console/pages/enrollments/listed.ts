import type { routes, Session } from "../../api/mod.ts";
import type { Outcome } from "../../kit/outcome.ts";

/** An enrollment as masters list it. */
export type Listed = NonNullable<(typeof routes.listEnrollments)["types"]>["answer"][number];

export const actions = ["approve", "reject", "revoke"] as const;
export type Action = (typeof actions)[number];
export const verbs: Readonly<Record<Action, string>> = {
  approve: "Approve",
  reject: "Reject",
  revoke: "Revoke",
};

/** What can be decided about an enrollment in each state. */
const possible: Readonly<Record<Listed["state"], readonly Action[]>> = {
  pending: ["approve", "reject"],
  approved: ["revoke"],
  issued: ["revoke"],
  active: ["revoke"],
  rejected: [],
  revoked: [],
};

/** What the session may decide about this enrollment. */
export const offered = (session: Pick<Session, "may">, { state }: Pick<Listed, "state">): Action[] =>
  possible[state].filter((action) => session.may("enrollments", action));

/** Those that are decided about: the chosen ones, or else the one that has the focus. */
export function inHandOf(
  rows: readonly Listed[],
  chosen: ReadonlySet<string>,
  focused: string | undefined,
): Listed[] {
  const picked = rows.filter(({ id }) => chosen.has(id));
  return picked.length > 0 ? picked : rows.filter(({ id }) => id === focused);
}

/** What lists say of the CA root that a host trusted. */
export const trustTexts: Readonly<Record<Listed["trust"], { word: string; outcome: Outcome }>> = {
  ok: { word: "this fleet", outcome: "ok" },
  "MISMATCH!": { word: "another root", outcome: "failed" },
  "-": { word: "not reported", outcome: "skipped" },
  SUSPENDED: { word: "suspended", outcome: "timeout" },
  "CLONE!": { word: "two hosts", outcome: "failed" },
  TAMPERED: { word: "tampered", outcome: "failed" },
};

/** What a host proved in addition to its key: the type of its evidence, or `token`. */
export const proofOf = ({
  evidence,
  proved_by: by,
}: Pick<Listed, "evidence" | "proved_by">): string | undefined => evidence ?? by?.replace(/:.*/, "");
