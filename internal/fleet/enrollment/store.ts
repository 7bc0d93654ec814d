import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bucket, Entry } from "../../bus/mod.ts";
import { decodeRecord, type Enrollment, encodeRecord } from "./record.ts";
import { liveStates } from "./transition.ts";

// A record counts only while the index of its peel points at it, or once it has ended. The record is
// written first and the index second, so that a crash between the two leaves a record nobody sees,
// never an index that points nowhere. The index moves only from nothing, or from a record that has
// ended, and always by compare-and-swap: of two racing enrollments one wins.

const indexPrefix = "peel.";

/** A record with the revision that the next compare-and-swap must name. */
export interface Versioned {
  record: Enrollment;
  revision: number;
}

export const indexKey = (peelId: string): string => `${indexPrefix}${peelId}`;

/**
 * Loads the record of an id that counts.
 *
 * @throws SvcError `not_found`, also for a malformed id
 */
export async function loadEnrollment(enrollments: Bucket, id: string): Promise<Versioned> {
  const found = isId("enr", id) ? await readRecord(enrollments, id) : undefined;
  if (found === undefined) throw new SvcError("not_found", "no enrollment with this id");
  // Only a pending one may be nobody's: what was decided counted then, and the index stays until it ends.
  if (found.record.state === "pending") {
    const index = await readIndex(enrollments, found.record.peelId);
    if (index?.id !== id) throw new SvcError("not_found", "no enrollment with this id");
  }
  return found;
}

/** The record that the index of this peel points at; `undefined` when the peel never enrolled. */
export async function findByPeel(
  enrollments: Bucket,
  peelId: string,
): Promise<{ indexRevision: number; current: Versioned | undefined } | undefined> {
  const index = await readIndex(enrollments, peelId);
  if (index === undefined) return undefined;
  return { indexRevision: index.revision, current: await readRecord(enrollments, index.id) };
}

/**
 * Saves a changed record if nobody changed it meanwhile.
 *
 * @returns the saved record, or `undefined` when the race was lost
 */
export async function saveEnrollment(
  enrollments: Bucket,
  next: Enrollment,
  revision: number,
): Promise<Versioned | undefined> {
  const saved = await enrollments.update(next.id, encodeRecord(next), revision);
  return saved === undefined ? undefined : { record: next, revision: saved };
}

/**
 * Stores a new record and points the peel's index at it.
 *
 * @param indexRevision revision of the index that was read, or `undefined` when there was none
 * @returns `undefined` when another enrollment of this peel was first; nothing of this one is left then
 */
export async function insertEnrollment(
  enrollments: Bucket,
  record: Enrollment,
  indexRevision: number | undefined,
): Promise<Versioned | undefined> {
  const revision = await enrollments.create(record.id, encodeRecord(record));
  if (revision === undefined) throw new SvcError("internal", "an enrollment id was used twice");
  const key = indexKey(record.peelId);
  const value = encode(record.id);
  const indexed =
    indexRevision === undefined
      ? await enrollments.create(key, value)
      : await enrollments.update(key, value, indexRevision);
  if (indexed === undefined) {
    await enrollments.remove(record.id, revision);
    return undefined;
  }
  return { record, revision };
}

/** All records that count, oldest first, from one read of the whole bucket. */
export async function readEnrollments(enrollments: Bucket): Promise<Enrollment[]> {
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

/** Whether a record counts, given what the index of its peel says. */
export function counts(record: Pick<Enrollment, "id" | "state">, indexed: string | undefined): boolean {
  return indexed === record.id || !liveStates.has(record.state);
}

/** What a key of the bucket is: a record's id, or the index of a peel. */
export function parseKey(key: string): { peelId: string } | { id: string } {
  return key.startsWith(indexPrefix) ? { peelId: key.slice(indexPrefix.length) } : { id: key };
}

/** The record that the value of an index names; `undefined` when it is malformed. */
export function readIndexId(value: Uint8Array): string | undefined {
  try {
    return decodeIndex({ key: indexPrefix, value });
  } catch {
    return undefined;
  }
}

export function decodeIndex(entry: Pick<Entry, "key" | "value">): string {
  const id = decode(entry.value);
  if (typeof id !== "string") throw new SvcError("internal", `the index ${entry.key} is malformed`);
  return id;
}

async function readRecord(enrollments: Bucket, id: string): Promise<Versioned | undefined> {
  const entry = await enrollments.get(id);
  return entry === undefined ? undefined : { record: decodeRecord(entry.value), revision: entry.revision };
}

async function readIndex(
  enrollments: Bucket,
  peelId: string,
): Promise<{ id: string; revision: number } | undefined> {
  const entry = await enrollments.get(indexKey(peelId));
  return entry === undefined ? undefined : { id: decodeIndex(entry), revision: entry.revision };
}
