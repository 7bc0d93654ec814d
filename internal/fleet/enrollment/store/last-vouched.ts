import { defined } from "../../../base/defined.ts";
import { attempt } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import type { Entry } from "../../../bus/storage/mod.ts";
import { type Enrollment, type EnrollmentEvent, encodeRecord, transition } from "../record/mod.ts";
import { type Enrollments, readEntry } from "./store.ts";
import { directVouchers, type Vouchers } from "./vouchers.ts";

/** The last valid revision of a record. */
export interface LastVouched {
  record: Enrollment;
  /** Its revision in the bucket. */
  revision: number;
  /** A master wrote this revision. Otherwise, direct decisions followed an earlier one. */
  byMaster: boolean;
  /** The last revision of a master; absent when this is the one. */
  decidedOn?: Enrollment;
}

/** Finds the last valid revision of a record among those that the bucket still holds. */
export async function lastVouched(
  enrollments: Enrollments,
  vouchers: Vouchers,
  id: string,
): Promise<LastVouched | undefined> {
  return isId("enr", id) ? followRevisions(await enrollments.history(id), vouchers) : undefined;
}

/**
 * Checks the revisions of a record, oldest first. A revision of a master is valid. A direct decision is valid
 * if it is exactly the result of an operator's decision on the last valid revision.
 */
function followRevisions(entries: readonly Entry[], vouchers: Vouchers): LastVouched | undefined {
  const unjudged = { vouchers: directVouchers };
  let last: LastVouched | undefined;
  for (const entry of entries) {
    const { revision } = entry;
    const vouched = readEntry({ vouchers }, entry);
    if (vouched !== undefined) {
      last = { record: vouched.record, revision, byMaster: true };
      continue;
    }
    const direct = attempt(() => readEntry(unjudged, entry)?.record);
    if (direct !== undefined && vouchers.mayDecide?.(direct) === false) continue;
    const decided = last === undefined || direct === undefined ? undefined : decideAgain(last.record, direct);
    if (decided === undefined || last === undefined) continue;
    const decidedOn = last.decidedOn ?? last.record;
    last = { record: decided, revision, byMaster: false, decidedOn };
  }
  return last;
}

/** The result of a direct decision on a record; `undefined` when `direct` is not exactly that result. */
function decideAgain(record: Enrollment, direct: Enrollment): Enrollment | undefined {
  if (direct.direct !== true) return undefined;
  for (const event of eventsOf(direct)) {
    const decided = attempt(() => directVouchers.mark(transition(record, event, direct.updatedAt)));
    if (decided === undefined || !isSame(decided, direct)) continue;
    const { directSignature } = direct;
    return directSignature === undefined ? decided : { ...decided, directSignature };
  }
  return undefined;
}

/**
 * What an operator may have decided. Only masters issue credentials and activate.
 */
function eventsOf(decided: Enrollment): EnrollmentEvent[] {
  const { state, decidedBy: operator, rejectReason, revokeReason } = decided;
  if (operator === undefined) return [];
  switch (state) {
    case "approved": {
      // The command has checked for a mismatch.
      const approve = { type: "approve", operator, force: true } as const;
      return [approve, { ...approve, dropLabels: true }];
    }
    case "rejected":
      return [{ type: "reject", operator, ...defined({ reason: rejectReason }) }];
    case "revoked":
      return [{ type: "revoke", operator, ...defined({ reason: revokeReason }) }];
    default:
      return [];
  }
}

/** Whether two records are the same but for their vouchers and the signature of an operator. */
function isSame(one: Enrollment, other: Enrollment): boolean {
  const plain = ({ identityVoucher: _, decisionVoucher: __, directSignature: ___, ...rest }: Enrollment) =>
    Buffer.from(encodeRecord(rest));
  return plain(one).equals(plain(other));
}
