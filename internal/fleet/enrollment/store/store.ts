import { attempt, SvcError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import { decode, encode } from "../../../base/msgpack.ts";
import type { Bucket, Entry } from "../../../bus/storage/mod.ts";
import { decodeRecord, type Enrollment, encodeRecord, liveStates } from "../record/mod.ts";
import { type Readings, type RecordReading, readRecord } from "./readings.ts";
import { isVouched, type Vouchers } from "./vouchers.ts";

/**
 * The bucket `enrollments`, with the vouchers of its records. A record that is ignored does not exist
 * for readers of this bucket. `svc` has no key, so it reads without vouchers and judges nothing.
 */
export interface Enrollments extends Bucket {
  readonly vouchers?: Vouchers;
  /** What this master read and wrote last, so that it reads it once. */
  readonly readings?: Readings;
  /**
   * Confirms that the bus has a majority, before an answer says that a record does not exist: peels take that as
   * final, and a server that is cut off does not know what the others stored.
   *
   * @throws SvcError `unavailable`
   */
  readonly confirmMajority?: () => Promise<unknown>;
}

// A record is valid only while the index of its peel points to it, or after it has ended; one that waits next to
// another is valid without (`rival_of`). The record is
// written first and the index second, so that a crash between the two leaves an invisible record, never an
// index without a record. The index moves only from nothing, or from a record that has ended, and always by
// compare-and-swap: one of two concurrent enrollments wins.

const indexPrefix = "peel.";

/** A record with the revision that the next compare-and-swap must name. */
export interface Versioned {
  record: Enrollment;
  revision: number;
}

export const indexKey = (peelId: string): string => `${indexPrefix}${peelId}`;

/**
 * Loads the valid record with this ID.
 *
 * @throws SvcError `not_found`, also for a malformed id; `unavailable` when the bus has no majority
 */
export async function loadEnrollment(enrollments: Enrollments, id: string): Promise<Versioned> {
  const entry = isId("enr", id) ? await getSurely(enrollments, id) : undefined;
  if (entry === undefined) throw new SvcError("not_found", "the enrollment does not exist");
  const found = readEntry(enrollments, entry);
  if (found === undefined) {
    throw new SvcError(
      "not_found",
      "the enrollment has no record that a master vouches for: see svc enroll list --state all",
    );
  }
  // Only a pending record may have no index: a decided one had an index, which stays until the record ends.
  if (found.record.state === "pending" && found.record.rivalOf === undefined) {
    const index = await readIndex(enrollments, found.record.peelId);
    if (index?.id !== id) throw new SvcError("not_found", "the enrollment does not exist");
  }
  return found;
}

async function getSurely(enrollments: Enrollments, id: string): Promise<Entry | undefined> {
  const entry = await enrollments.get(id);
  if (entry !== undefined || enrollments.confirmMajority === undefined) return entry;
  await enrollments.confirmMajority();
  return enrollments.get(id);
}

/** The index of a peel, and its record. */
export interface FoundByPeel {
  indexRevision: number;
  /** ID of the record that the index points to. */
  id: string;
  /** That record; `undefined` if it does not exist, has no valid voucher, or belongs to another peel. */
  current: Versioned | undefined;
}

/** The record that the index of this peel points to; `undefined` when the peel never enrolled. */
export async function findByPeel(enrollments: Enrollments, peelId: string): Promise<FoundByPeel | undefined> {
  const index = await readIndex(enrollments, peelId);
  if (index === undefined) return undefined;
  const entry = isId("enr", index.id) ? await enrollments.get(index.id) : undefined;
  const found = entry === undefined ? undefined : readEntry(enrollments, entry);
  const current = found?.record.peelId === peelId ? found : undefined;
  return { indexRevision: index.revision, id: index.id, current };
}

/**
 * Saves a changed record if it did not change meanwhile.
 *
 * @returns the saved record, or `undefined` when the race was lost
 */
export async function saveEnrollment(
  enrollments: Enrollments,
  next: Enrollment,
  revision: number,
): Promise<Versioned | undefined> {
  const { record, value } = sealed(enrollments, next);
  // Until this write is known to be stored, nothing is known of the record.
  enrollments.readings?.wrote(record.id, undefined);
  const saved = await enrollments.update(record.id, value, revision);
  if (saved === undefined) return undefined;
  const written = { record, revision: saved };
  enrollments.readings?.wrote(record.id, written);
  return written;
}

/** A record with its vouchers, and the bytes to store. */
function sealed(
  { vouchers, readings }: Enrollments,
  made: Enrollment,
): { record: Enrollment; value: Uint8Array } {
  const seal = vouchers?.seal?.(made);
  if (seal === undefined) {
    const record = vouchers?.mark(made) ?? made;
    return { record, value: encodeRecord(record) };
  }
  const { record, stored } = seal;
  // A copy: the encoder returns a part of a larger buffer.
  const value = new Uint8Array(encode(stored));
  readings?.retain(value, seal);
  return { record, value };
}

/**
 * Stores a new record and points the peel's index to it.
 *
 * @param indexRevision revision of the index that was read, or `undefined` when there was none
 * @returns `undefined` when another enrollment of this peel was first; nothing of this one remains
 */
export async function insertEnrollment(
  enrollments: Enrollments,
  made: Enrollment,
  indexRevision: number | undefined,
): Promise<Versioned | undefined> {
  const { record, value } = sealed(enrollments, made);
  const revision = await enrollments.create(record.id, value);
  if (revision === undefined) throw new SvcError("internal", "an enrollment id was used twice");
  if (!(await pointIndex(enrollments, record, indexRevision))) {
    await enrollments.remove(record.id, revision);
    return undefined;
  }
  const written = { record, revision };
  // Not before its index points to it: a pending record without one does not exist.
  enrollments.readings?.wrote(record.id, written);
  return written;
}

/**
 * Stores a new record next to the one that the index of its peel points to. The index is written again as it is: of two
 * masters that do so at the same moment, one counts before the other.
 *
 * @param made has `rivalOf`
 * @returns `undefined` when the index changed meanwhile; nothing of this one remains
 */
export async function insertRival(
  enrollments: Enrollments,
  made: Enrollment,
  index: Pick<FoundByPeel, "id" | "indexRevision">,
): Promise<Versioned | undefined> {
  const { record, value } = sealed(enrollments, made);
  const revision = await enrollments.create(record.id, value);
  if (revision === undefined) throw new SvcError("internal", "an enrollment id was used twice");
  if (!(await pointIndex(enrollments, { id: index.id, peelId: record.peelId }, index.indexRevision))) {
    await enrollments.remove(record.id, revision);
    return undefined;
  }
  const written = { record, revision };
  enrollments.readings?.wrote(record.id, written);
  return written;
}

/**
 * Makes the index of a peel point to a record.
 *
 * @returns `false` when the index changed meanwhile
 */
export async function pointIndex(
  enrollments: Enrollments,
  record: Pick<Enrollment, "id" | "peelId">,
  indexRevision: number | undefined,
): Promise<boolean> {
  const key = indexKey(record.peelId);
  const value = encode(record.id);
  const written =
    indexRevision === undefined
      ? await enrollments.create(key, value)
      : await enrollments.update(key, value, indexRevision);
  return written !== undefined;
}

/**
 * Removes a pending enrollment that was created at or before this time, and the index that points at it. A decision
 * of the same moment wins.
 *
 * @param before milliseconds since the Unix epoch
 * @returns whether it was removed
 */
export async function removePending(enrollments: Enrollments, id: string, before: number): Promise<boolean> {
  const entry = await enrollments.get(id);
  const found = entry === undefined ? undefined : readEntry(enrollments, entry);
  if (found === undefined || found.record.state !== "pending" || found.record.createdAt > before)
    return false;
  const { peelId, former } = found.record;
  if (!(await enrollments.remove(id, found.revision))) return false;
  // An index that stays behind points to no record, and a new enrollment of the peel replaces it.
  const index = await readIndex(enrollments, peelId);
  if (index?.id !== id) return true;
  // Whose host waits until it is dropped would have no labels when it asks again.
  if (former !== undefined) {
    await pointIndex(enrollments, { id: former.enrollment, peelId }, index.revision);
  } else await enrollments.remove(indexKey(peelId), index.revision);
  return true;
}

/** All valid records, oldest first, from one read of the whole bucket. */
export async function readEnrollments(enrollments: Enrollments): Promise<Enrollment[]> {
  const records = new Map<string, Enrollment>();
  const index = new Map<string, string>();
  for (const entry of await enrollments.entries()) {
    if (entry.key.startsWith(indexPrefix)) index.set(entry.key.slice(indexPrefix.length), decodeIndex(entry));
    else records.set(entry.key, decodeRecord(entry.value));
  }
  return [...records.values()]
    .filter((record) => counts(record, index.get(record.peelId)))
    .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

/** Whether a record is valid, given the index of its peel. */
export function counts(
  { id, state, rivalOf }: Pick<Enrollment, "id" | "state"> & { rivalOf?: unknown },
  indexed: string | undefined,
): boolean {
  return indexed === id || !liveStates.has(state) || (state === "pending" && rivalOf !== undefined);
}

/** The kind of a key of the bucket: the ID of a record, or the index of a peel. */
export function parseKey(key: string): { peelId: string } | { id: string } {
  return key.startsWith(indexPrefix) ? { peelId: key.slice(indexPrefix.length) } : { id: key };
}

/** The record that the value of an index names; `undefined` when it is malformed. */
export function readIndexId(value: Uint8Array): string | undefined {
  return attempt(() => decodeIndex({ key: indexPrefix, value }));
}

export function decodeIndex(entry: Pick<Entry, "key" | "value">): string {
  const id = decode(entry.value);
  if (typeof id !== "string") throw new SvcError("internal", `the index ${entry.key} is malformed`);
  return id;
}

/** The record of an entry; `undefined` when it is ignored. */
export function readEntry(
  enrollments: Pick<Enrollments, "vouchers" | "readings">,
  entry: Pick<Entry, "key" | "value" | "revision">,
): Versioned | undefined {
  const { vouchers } = enrollments;
  const { key, value, revision } = entry;
  if (vouchers === undefined) return { record: decodeRecord(value), revision };
  const reading = readingOf(enrollments, entry);
  if (!isVouched(key, reading.map, vouchers)) return undefined;
  return { record: reading.record(), revision };
}

/** What an entry says, read once where this master keeps what it reads. */
export function readingOf(
  { readings }: Pick<Enrollments, "readings">,
  { key, value }: Pick<Entry, "key" | "value">,
): RecordReading {
  return readings?.of(key, value) ?? readRecord(value);
}

async function readIndex(
  enrollments: Enrollments,
  peelId: string,
): Promise<{ id: string; revision: number } | undefined> {
  const entry = await enrollments.get(indexKey(peelId));
  if (entry === undefined) return undefined;
  const { revision } = entry;
  try {
    return { id: decodeIndex(entry), revision };
  } catch {
    // A malformed index points nowhere.
    return { id: "", revision };
  }
}
