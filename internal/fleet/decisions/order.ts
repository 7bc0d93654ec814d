import { isId } from "../../base/id.ts";
import {
  decodeRecord,
  decodeRevocation,
  type Enrollment,
  type EnrollmentState,
  isOver,
  transitions,
} from "../enrollment/mod.ts";
import type { Decision, DecisionBucket } from "./decision.ts";

/** A stored value: the part of a decision that is compared. */
export type Stored = Pick<Decision, "bucket" | "key"> & { value: Uint8Array };

/** How a stored value relates to the one that is known. */
export type Order = "older" | "same" | "newer";

/**
 * The record of an enrollment; `undefined` for a value that is malformed, or is stored under a foreign key, or
 * belongs to the index.
 */
export function enrollmentOf({ bucket, key, value }: Stored): Enrollment | undefined {
  if (bucket !== "enrollments" || !isId("enr", key)) return undefined;
  try {
    const record = decodeRecord(value);
    return record.id === key ? record : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a value is a decision that must not be lost: an enrollment, or a revocation that is not over. What
 * masters refuse by themselves until a record appears is not a decision.
 */
export function isDecision(stored: Stored, now: number): boolean {
  if (stored.bucket === "enrollments") return enrollmentOf(stored) !== undefined;
  try {
    const { expiresAt, stray } = decodeRevocation(stored.key, stored.value);
    return stray !== true && !isOver(expiresAt, now);
  } catch {
    return false;
  }
}

/** Whether the bus may remove this record: nothing was decided about it, or it is over. */
export function isRemovable(stored: Stored, now: number): boolean {
  if (!isDecision(stored, now)) return true;
  return enrollmentOf(stored)?.state === "pending";
}

/** How a value relates to a known value of the same record. Both are decisions. */
export function orderOf(value: Stored, known: Stored): Order {
  const [one, other] = [enrollmentOf(value), enrollmentOf(known)];
  // A revocation is written once.
  if (one === undefined || other === undefined) return "same";
  const difference = compareRecords(one, other);
  return difference === 0 ? "same" : difference > 0 ? "newer" : "older";
}

/**
 * Compares two versions of one record: by the table of transitions, so that a clock decides only between
 * versions that the table does not order.
 *
 * @returns more than 0 when `one` is later
 */
export function compareRecords(one: Enrollment, other: Enrollment): number {
  if (one.state !== other.state) {
    if (leadsTo(other.state, one.state)) return 1;
    if (leadsTo(one.state, other.state)) return -1;
    // Two masters decided apart from each other; the end of an enrollment is never taken back.
    if (one.state === "revoked") return 1;
    if (other.state === "revoked") return -1;
  }
  return one.updatedAt - other.updatedAt;
}

function leadsTo(from: EnrollmentState, to: EnrollmentState): boolean {
  return Object.values(transitions[from]).some((next) => next === to || leadsTo(next, to));
}

/** When and what was decided last. */
export interface NewestDecision {
  /** Milliseconds since the Unix epoch. */
  at: number;
  bucket: DecisionBucket;
  key: string;
  peelId: string;
  /** The state of an enrollment, or `revoked` for a revoked key. */
  state: EnrollmentState;
}

/** The newest decision of some values; `undefined` when there is none. */
export function newestOf(values: Iterable<Stored>, now: number): NewestDecision | undefined {
  let newest: NewestDecision | undefined;
  for (const stored of values) {
    const found = whenDecided(stored, now);
    if (found !== undefined && (newest === undefined || found.at > newest.at)) newest = found;
  }
  return newest;
}

function whenDecided(stored: Stored, now: number): NewestDecision | undefined {
  const { bucket, key, value } = stored;
  const record = enrollmentOf(stored);
  if (record !== undefined) {
    return { at: record.updatedAt, bucket, key, peelId: record.peelId, state: record.state };
  }
  if (bucket !== "revocations" || !isDecision(stored, now)) return undefined;
  const { peelId, revokedAt } = decodeRevocation(key, value);
  return { at: revokedAt, bucket, key, peelId, state: "revoked" };
}
