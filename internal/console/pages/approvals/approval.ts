import { defined } from "../../../base/defined.ts";
import type { routes } from "../../api/mod.ts";
import type { Outcome } from "../../kit/outcome.ts";

/** A request as masters show it. */
export type Approval = NonNullable<(typeof routes.getApproval)["types"]>["answer"];

/** A request as masters list it. */
export type ListedApproval = NonNullable<
  (typeof routes.listApprovals)["types"]
>["answer"]["approvals"][number];

/** How far a request is, as a word and its look. */
export function statusOf({ state, outcome }: Pick<Approval, "state" | "outcome">): {
  word: string;
  outcome: Outcome;
} {
  if (state === "waiting") return { word: "waiting", outcome: "running" };
  if (state === "denied") return { word: "denied", outcome: "failed" };
  if (state === "expired") return { word: "expired", outcome: "timeout" };
  if (outcome === "failed") return { word: "failed", outcome: "failed" };
  return outcome === "done" ? { word: "done", outcome: "ok" } : { word: "started", outcome: "running" };
}

/** Who is signed in, and what the roles allow at all. */
export interface Decider {
  name: string;
  /** Absent for credentials that name nobody: they cannot agree. */
  roles?: readonly string[] | undefined;
  mayApprove: boolean;
  mayDeny: boolean;
}

/**
 * What someone is offered for a request.
 *
 * @returns `why` says why approving is not offered to one whose roles allow it
 */
export function choicesOf(
  { state, asked_by, agreed }: Pick<Approval, "state" | "asked_by" | "agreed">,
  { name, roles, mayApprove, mayDeny }: Decider,
): { approve: boolean; deny: "Deny" | "Withdraw" | undefined; why?: string } {
  if (state !== "waiting") return { approve: false, deny: undefined };
  const isOwn = asked_by === name;
  const isNamed = roles !== undefined;
  const deny = mayDeny && isNamed ? (isOwn ? "Withdraw" : "Deny") : undefined;
  const why = !mayApprove
    ? undefined
    : !isNamed
      ? "These credentials name no operator: agreeing needs a token or a key of your own."
      : isOwn
        ? "You asked for it: other operators must agree."
        : agreed.includes(name)
          ? "You agreed: it waits for others."
          : undefined;
  return { approve: mayApprove && why === undefined, deny, ...defined({ why }) };
}
