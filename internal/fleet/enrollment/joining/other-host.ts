import { describeError, SvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { conflict, retryOnConflict } from "../../../base/retry-on-conflict.ts";
import { type Enrollment, liveStates, transition } from "../record/mod.ts";
import {
  type ApplyDeps,
  type Directory,
  type Enrollments,
  findByPeel,
  lastVouched,
  loadEnrollment,
  pointIndex,
  saveEnrollment,
  type Versioned,
} from "../store/mod.ts";
import type { EnrollDeps } from "./deps.ts";

// Several hosts that wait under one peel id: at most one of them becomes a member. The index of the peel id points to
// one of them; the others were made next to it, since they proved themselves.

/** Why a host is rejected that did not do anything wrong itself. */
export const rejectReasons = {
  replaced: "replaced by a host that proved itself",
  otherApproved: "another host with this peel id was approved",
} as const;

export interface OtherHostDeps extends ApplyDeps {
  /** Records a rejection in the audit; absent where the decision that it follows from is recorded. */
  begin?: EnrollDeps["begin"];
  log: Log;
}

/** Who rejects the others, and why. */
interface Ending {
  by: string;
  reason: string;
}

/**
 * Makes a host that waits next to another one the only one: the other one is rejected, and the index points to this one.
 * It can be repeated, also after a crash.
 *
 * @param ending.mayReplace whether the other one may be rejected
 * @returns the record, and what was rejected; `undefined` when the other one may not be
 * @throws SvcError `conflict` when the peel id has a member, `invalid_transition` when it does not wait any longer
 */
export async function promote(
  deps: OtherHostDeps,
  id: string,
  ending: Ending & { mayReplace?(other: Enrollment): boolean },
): Promise<{ record: Enrollment; rejected: string[] } | undefined> {
  const { enrollments, clock } = deps;
  const rejected: string[] = [];
  const attempt = async () => {
    const { record, revision } = await loadEnrollment(enrollments, id);
    const { peelId, rivalOf } = record;
    if (rivalOf === undefined) return { record, rejected };
    const promoted = transition(record, { type: "promote" }, clock.now());
    const found = await findByPeel(enrollments, peelId);
    const other = found?.current?.record.id === id ? undefined : found?.current;
    const isTaken = other !== undefined && liveStates.has(other.record.state);
    if (isTaken && other.record.state !== "pending") throw takenError();
    const lost =
      found !== undefined && found.current === undefined && (await lastGood(enrollments, found.id));
    if (lost && liveStates.has(lost.state)) throw takenError();
    if (isTaken) {
      if (ending.mayReplace?.(other.record) === false) return undefined;
      if (!(await rejectOther(deps, other, ending))) return conflict;
      rejected.push(other.record.id);
    }
    if (found?.id !== id && !(await pointIndex(enrollments, record, found?.indexRevision))) return conflict;
    const saved = await saveEnrollment(enrollments, promoted, revision);
    return saved === undefined ? conflict : { record: saved.record, rejected };
  };
  return retryOnConflict(attempt, { exhausted: "other requests are enrolling this peel_id: try again" });
}

/**
 * Rejects those that wait next to an enrollment that was approved. What fails is repeated later by masters: the approval
 * is in force.
 *
 * @returns the ids of those that were rejected
 */
export async function rejectRivals(
  deps: OtherHostDeps & { rivals: Pick<Directory, "rivalsOf"> },
  approved: Pick<Enrollment, "id" | "peelId">,
  ending: Ending,
): Promise<string[]> {
  const rejected: string[] = [];
  for (const { id } of deps.rivals.rivalsOf(approved.peelId)) {
    if (id === approved.id) continue;
    try {
      const found = await loadEnrollment(deps.enrollments, id);
      if (found.record.state === "pending" && (await rejectOther(deps, found, ending))) rejected.push(id);
    } catch (cause) {
      deps.log.warn("an enrollment next to one that was approved is not rejected yet", {
        ...{ enrollment_id: id, peel_id: approved.peelId, error: describeError(cause) },
      });
    }
  }
  return rejected;
}

/**
 * Rejects a host exactly as it was read: it may have proved itself since.
 *
 * @returns `false` when it changed meanwhile
 */
async function rejectOther(
  { enrollments, clock, begin, log }: OtherHostDeps,
  { record, revision }: Versioned,
  { by, reason }: Ending,
): Promise<boolean> {
  const { id: enrollment, peelId: peel } = record;
  const rejected = transition(record, { type: "reject", operator: by, reason }, clock.now());
  const end = await begin?.({ action: "enrollments.reject", by, enrollment, peel });
  let isSaved = false;
  try {
    isSaved = (await saveEnrollment(enrollments, rejected, revision)) !== undefined;
  } finally {
    await end?.(isSaved ? "done" : "failed");
  }
  if (isSaved) {
    log.info("enrollment rejected", { enrollment_id: enrollment, peel_id: peel, operator: by, reason });
  }
  return isSaved;
}

export function takenError(): SvcError {
  return new SvcError(
    "conflict",
    "peel_id already has an active enrollment: an operator must revoke it first",
  );
}

/** A record that is no longer valid, as a master last wrote it. */
export async function lastGood(enrollments: Enrollments, id: string): Promise<Enrollment | undefined> {
  if (enrollments.vouchers === undefined) return undefined;
  return (await lastVouched(enrollments, enrollments.vouchers, id))?.record;
}
