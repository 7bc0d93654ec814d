import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { isId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { Gate } from "../operation/mod.ts";
import type { RoleGate } from "../roles/mod.ts";
import type { PersonsDeps } from "./persons.ts";
import { type Approval, encodeApproval, type Party, readApproval } from "./record.ts";
import type { Starters } from "./starters.ts";
import type { ApprovalView } from "./view.ts";

export interface ApprovalsDeps extends PersonsDeps {
  bucket: Pick<Bucket, "get" | "create" | "update">;
  view: Pick<ApprovalView, "all" | "seen">;
  mac: RecordMac;
  starters: Starters;
  gate: Gate;
  roleGate: Pick<RoleGate, "judge">;
  /** The roles that someone has now, or why they have none any more. */
  rolesNow(party: Party): { roles: readonly string[] } | { refused: string };
  /** Names of the operators who have the role `admin` now. */
  administrators(): readonly string[];
  /** `approvals.ttl`, milliseconds. */
  ttlMs: number;
  clock: Clock;
  random: Random;
  log: Log;
}

/** @throws SvcError `not_found`, `storage` */
export async function load({ bucket, mac }: ApprovalsDeps, id: string) {
  const entry = isId("apr", id) ? await bucket.get(id) : undefined;
  const approval = entry === undefined ? undefined : readApproval(mac, id, entry.value);
  if (entry === undefined || approval === undefined) {
    throw new SvcError("not_found", "the request does not exist, or ended more than 7 days ago");
  }
  return { approval, revision: entry.revision };
}

/** Changes the record by compare-and-swap. */
export function change(
  deps: ApprovalsDeps,
  id: string,
  next: (now: Approval) => Approval,
): Promise<Approval> {
  const attempt = async () => {
    const { approval, revision } = await load(deps, id);
    const changed = next(approval);
    if (changed === approval) return approval;
    const stored = await deps.bucket.update(id, encodeApproval(deps.mac, changed), revision);
    return stored === undefined ? conflict : changed;
  };
  return retryOnConflict(attempt, { exhausted: `the request ${id} is being changed by others` });
}

/** Changes the record where it still is as it should be. @returns whether this master did */
export async function claim(
  deps: ApprovalsDeps,
  id: string,
  isFree: (now: Approval) => boolean,
  claimed: Partial<Approval>,
): Promise<{ approval: Approval; isOurs: boolean }> {
  let isOurs = false;
  const approval = await change(deps, id, (now) => {
    isOurs = isFree(now);
    return isOurs ? { ...now, ...claimed } : now;
  });
  return { approval, isOurs };
}
