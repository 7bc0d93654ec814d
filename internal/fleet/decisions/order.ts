import { attempt } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import { environmentKey } from "../../base/names/names.ts";
import { decodeOperator, lastRecordKey, type SignedOperatorRecord } from "../../wire/operator-record.ts";
import { openRelease, type SignedRelease } from "../../wire/release.ts";
import {
  type Enrollment,
  type EnrollmentState,
  type StoredMap,
  transitions,
} from "../enrollment/record/mod.ts";
import {
  compareRevocations,
  decodeRevocation,
  isOver,
  type Revocation,
} from "../enrollment/revocation/mod.ts";
import { type Readings, type RecordReading, readRecord } from "../enrollment/store/mod.ts";
import type { Decision } from "./decision.ts";

/** A stored value: the part of a decision that is compared. */
export type Stored = Pick<Decision, "bucket" | "key"> & { value: Uint8Array };

/** A stored value that is decoded once, however often it is compared. */
export interface Reading extends Stored {
  /** The stored form of an enrollment; `undefined` for anything that is not a map. */
  readonly map: StoredMap | undefined;
  readonly enrollment: Enrollment | undefined;
  readonly revocation: Revocation | undefined;
  readonly release: SignedRelease | undefined;
  readonly operator: SignedOperatorRecord | undefined;
}

/** How a stored value relates to the one that is known. */
export type Order = "older" | "same" | "newer";

/** What decides whether a stored value counts. */
export interface Judge {
  /** Milliseconds since the Unix epoch. */
  now: number;
  /** How long an enrollment may be pending, milliseconds: masters remove it after that. */
  pendingTtlMs: number;
  /** Whether a master wrote this enrollment record: any other is ignored. */
  vouched(stored: StoredMap): boolean;
  /** Whether a release of state files counts now: any other is ignored. */
  isGoodRelease(stored: Uint8Array, release: SignedRelease): boolean;
  /** Whether an administrator who counts signed the record of an operator: any other is ignored. */
  isGoodOperator(stored: Uint8Array, record: SignedOperatorRecord): boolean;
}

/** A judge for commands: they have no keys, and masters judge again what they write. */
export function judgeWithoutKeys(now: number): Judge {
  const yes = () => true;
  return {
    ...{ now, pendingTtlMs: Number.POSITIVE_INFINITY, vouched: yes },
    ...{ isGoodRelease: yes, isGoodOperator: yes },
  };
}

/**
 * The record of an enrollment; `undefined` for a value that is malformed, or is stored under a foreign key, or
 * belongs to the index.
 */
export function enrollmentOf(stored: Stored | Reading): Enrollment | undefined {
  return readingOf(stored).enrollment;
}

function recordOf(key: string, reading: RecordReading | undefined): Enrollment | undefined {
  if (reading?.map === undefined) return undefined;
  try {
    const record = reading.record();
    return record.id === key ? record : undefined;
  } catch {
    return undefined;
  }
}

function revocationOf({ bucket, key, value }: Stored): Revocation | undefined {
  if (bucket !== "revocations") return undefined;
  return attempt(() => decodeRevocation(key, value));
}

/** A release; `undefined` for anything else, and for one of another environment than its key names. */
function releaseOf({ bucket, key, value }: Stored): SignedRelease | undefined {
  if (bucket !== "releases") return undefined;
  const release = attempt(() => openRelease(value));
  const place = release && environmentKey(release.environment);
  return place !== undefined && (key === place || key.startsWith(`${place}.`)) ? release : undefined;
}

/** The record of an operator; `undefined` for anything else, and for one that is stored under a foreign key. */
function operatorOf({ bucket, key, value }: Stored): SignedOperatorRecord | undefined {
  if (bucket !== "operators") return undefined;
  const record = attempt(() => decodeOperator(value));
  return record !== undefined && (key === record.name || key === lastRecordKey(record)) ? record : undefined;
}

/**
 * Reads a stored value when it is compared for the first time.
 *
 * @param readings the records that this master read last
 */
export function readingOf(stored: Stored | Reading, readings?: Readings): Reading {
  if ("enrollment" in stored) return stored;
  const { bucket, key, value } = stored;
  const isRecord = bucket === "enrollments" && isId("enr", key);
  const reading = isRecord ? (readings?.of(key, value) ?? readRecord(value)) : undefined;
  let enrollment: { read: Enrollment | undefined } | undefined;
  let revocation: { read: Revocation | undefined } | undefined;
  let release: { read: SignedRelease | undefined } | undefined;
  let operator: { read: SignedOperatorRecord | undefined } | undefined;
  return {
    ...{ bucket, key, value },
    get map() {
      return reading?.map;
    },
    get enrollment() {
      enrollment ??= { read: recordOf(key, reading) };
      return enrollment.read;
    },
    get revocation() {
      revocation ??= { read: revocationOf(stored) };
      return revocation.read;
    },
    get release() {
      release ??= { read: releaseOf(stored) };
      return release.read;
    },
    get operator() {
      operator ??= { read: operatorOf(stored) };
      return operator.read;
    },
  };
}

/**
 * Whether a value is a decision that must not be lost: an enrollment that masters made, or a revocation or a
 * suspension that is not over, or a release or an operator that counts. What masters refuse by themselves until a record appears is not a decision, and
 * neither is an enrollment that was pending for too long.
 */
export function isDecision(
  stored: Stored | Reading,
  { now, pendingTtlMs, vouched, isGoodRelease, isGoodOperator }: Judge,
): boolean {
  const one = readingOf(stored);
  if (one.operator !== undefined) return isGoodOperator(one.value, one.operator);
  if (one.release !== undefined) return isGoodRelease(one.value, one.release);
  const { map, enrollment: record } = one;
  if (map !== undefined && record !== undefined) {
    const isTooOld = record.state === "pending" && record.createdAt <= now - pendingTtlMs;
    return !isTooOld && vouched(map);
  }
  const { revocation: entry } = one;
  return entry !== undefined && entry.stray !== true && !isOver(entry.expiresAt, now);
}

/** Whether the bus may remove this record: nothing was decided about it, or it is over. */
export function isRemovable(stored: Stored, judge: Judge): boolean {
  const one = readingOf(stored);
  // An operator who is removed is disabled first, and has a last record under another key.
  const isRemovedOperator = one.operator?.disabled === true && one.operator.name === one.key;
  return !isDecision(one, judge) || one.enrollment?.state === "pending" || isRemovedOperator;
}

/** How a value relates to a known value of the same record. */
export function orderOf(value: Stored | Reading, known: Stored | Reading): Order {
  const difference = differenceOf(value, known);
  return difference === 0 ? "same" : difference > 0 ? "newer" : "older";
}

function differenceOf(value: Stored | Reading, known: Stored | Reading): number {
  const [there, before] = [readingOf(value), readingOf(known)];
  if (there.release !== undefined && before.release !== undefined) {
    return there.release.version - before.release.version;
  }
  if (there.operator !== undefined && before.operator !== undefined) {
    return there.operator.version - before.operator.version;
  }
  const [one, other] = [there.enrollment, before.enrollment];
  if (one !== undefined && other !== undefined) return compareRecords(one, other);
  const [entry, earlier] = [there.revocation, before.revocation];
  return entry === undefined || earlier === undefined ? 0 : compareRevocations(entry, earlier);
}

/**
 * Whether the bus has less than a value that is known, and that is a decision.
 *
 * A record that can be read but that no master made is left as it is: an operator sees it and restores it, or a
 * master takes it over.
 */
export function isLost(there: Stored | Reading | undefined, known: Stored | Reading, judge: Judge): boolean {
  const before = readingOf(known);
  if (!isDecision(before, judge)) return false;
  if (there === undefined) return true;
  const now = readingOf(there);
  // A newer record that does not count here may count for a master whose file of administrators is newer.
  if (before.operator !== undefined) return now.operator === undefined || orderOf(now, before) === "older";
  // Nobody restores a release by hand: one that does not count gives way to the last good one.
  if (before.release !== undefined) return !isDecision(now, judge) || orderOf(now, before) === "older";
  const map = now.enrollment === undefined ? undefined : now.map;
  if (map === undefined && now.revocation === undefined) return true;
  if (map !== undefined && !judge.vouched(map)) return false;
  return orderOf(now, before) === "older";
}

/** Whether a decision replaces what a log knows of the same record. */
export function isNews(value: Stored | Reading, known: Stored | Reading | undefined, judge: Judge): boolean {
  if (known === undefined) return true;
  if (Buffer.compare(known.value, value.value) === 0) return false;
  const [now, before] = [readingOf(value), readingOf(known)];
  if (!isDecision(before, judge)) return true;
  return orderOf(now, before) === "newer";
}

/**
 * Compares two versions of one record: by the table of transitions, so that a clock decides only between
 * versions that the table does not order. A suspension and its end keep the state, and always raise the time.
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

/** Whether the table leads from one state to another, which is not the same. */
function leadsTo(from: EnrollmentState, to: EnrollmentState): boolean {
  return Object.values(transitions[from]).some((next) => next !== from && (next === to || leadsTo(next, to)));
}

/** When and what was decided last. */
export interface NewestDecision {
  /** Milliseconds since the Unix epoch. */
  at: number;
  bucket: string;
  key: string;
  peelId: string;
  /** The state of an enrollment; for a key, what was decided about it. */
  state: EnrollmentState | "suspended" | "resumed" | "released";
}

/** The newest decision of some values; `undefined` when there is none. */
export function newestOf(values: Iterable<Stored>, judge: Judge): NewestDecision | undefined {
  let newest: NewestDecision | undefined;
  for (const stored of values) {
    const found = isDecision(stored, judge) ? whenDecided(stored) : undefined;
    if (found !== undefined && (newest === undefined || found.at > newest.at)) newest = found;
  }
  return newest;
}

function whenDecided(stored: Stored): NewestDecision | undefined {
  const { bucket, key } = stored;
  const record = enrollmentOf(stored);
  if (record !== undefined) {
    const state = record.suspended === undefined ? record.state : "suspended";
    return { at: record.updatedAt, bucket, key, peelId: record.peelId, state };
  }
  const release = releaseOf(stored);
  if (release !== undefined) return { at: release.releasedAt, bucket, key, peelId: "", state: "released" };
  const entry = revocationOf(stored);
  if (entry === undefined) return undefined;
  const { peelId, revokedAt: at, suspension, liftedAt } = entry;
  const state = suspension !== true ? "revoked" : liftedAt === undefined ? "suspended" : "resumed";
  return { at, bucket, key, peelId, state };
}
