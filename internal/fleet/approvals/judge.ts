import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { sha256 } from "../../base/sha256.ts";
import { describeCaller, whoCan } from "../roles/mod.ts";
import type { ApprovalsDeps } from "./change.ts";
import { differentPersons } from "./persons.ts";
import { type Approval, type Party, stateOf } from "./record.ts";
import type { Starter } from "./starters.ts";

/** @returns those who agreed and may do the same now, each person once: they may have left, or lost the role */
export async function stillAgreed(
  deps: ApprovalsDeps,
  starter: Starter,
  approval: Approval,
): Promise<Party[]> {
  const standing: Party[] = [];
  for (const one of differentPersons(deps, approval.asker, approval.agreed)) {
    const now = deps.rolesNow(one);
    if ("refused" in now) continue;
    const { allowed } = await judge(deps, starter, approval, now.roles);
    if (allowed) standing.push(one);
  }
  return standing;
}

const judge = (
  deps: ApprovalsDeps,
  { scope, touched }: Starter,
  { input, targets, isOlder }: Approval,
  roles: readonly string[],
) =>
  deps.roleGate.judge(roles, {
    scope,
    input,
    touched: targets === undefined ? touched(input) : { peels: { peels: targets } },
    ...defined({ isOlder }),
  });

/** @throws SvcError `forbidden` for a caller who may not do the same */
export async function assertMay(
  deps: ApprovalsDeps,
  starter: Starter,
  approval: Approval,
  by: Party,
): Promise<void> {
  const judged = await judge(deps, starter, approval, by.roles);
  if (judged.allowed) return;
  throw new SvcError(
    "forbidden",
    `${describeCaller(by.name, by.roles)} cannot agree, as none of their roles allows the same: ${judged.reason}${whoCan(judged.holders, deps.administrators())}`,
  );
}

/** @throws SvcError `conflict` */
export function assertWaiting(approval: Approval, now: number): void {
  const state = stateOf(approval, now);
  if (state === "waiting") return;
  const how = {
    started: "was started",
    denied: `was denied by ${approval.deniedBy}${approval.reason === undefined ? "" : `: ${approval.reason}`}`,
    expired: `expired at ${rfc3339(approval.expiresAt)}`,
  }[state];
  throw new SvcError("conflict", `the request ${approval.id} ${how}`);
}

/** What an operator who agrees says that it saw. */
export interface Seen {
  /** SHA-256 of the signed request. */
  digest?: Uint8Array;
  /** The one of its ids: requests that were signed together have one digest. */
  signedId?: string;
}

/** @throws SvcError `conflict` where the operator who agrees saw another request */
export function assertSeen(
  { id, input, asker: { envelope } }: Pick<Approval, "id" | "input" | "asker">,
  { digest, signedId }: Seen,
): void {
  const isRequest =
    digest === undefined || (envelope !== undefined && Buffer.from(sha256(envelope)).equals(digest));
  const { id: meant } = Object(input) as { id?: unknown };
  if (isRequest && (signedId === undefined || meant === signedId)) return;
  throw new SvcError("conflict", `${id} is another request than the one that was shown: show it again`);
}
