import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bucket, Entry } from "../../bus/mod.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";
import { decodeRecord, type Enrollment, encodeRecord } from "./record.ts";
import { type Enrollments, parseKey } from "./store.ts";
import { type Adoption, judgeEntry } from "./verdict.ts";
import type { Vouchers } from "./vouchers.ts";

// Records of earlier versions have no vouchers, and get them once: a master vouches for all records, and then
// marks the fleet. From the mark on, a record without valid vouchers counts for nothing. A master of an earlier
// version writes no vouchers, so that there must not be one when the mark is set.

/** Key of the mark in the bucket `secrets`, which only masters can write. */
export const adoptionMark = "_enrollments_vouched";
const adoptedAtOnce = 32;
/** Records that others change while they are adopted are read again, so many times. */
const mostRounds = 5;

const storedMark = v.object({ at: v.string(), voucher: v.instance(Uint8Array) });

export interface AdoptDeps {
  enrollments: Enrollments;
  vouchers: Vouchers;
  /** The bucket `secrets`. */
  secrets: Bucket;
  mac: RecordMac;
  clock: Clock;
  log: Log;
}

/** Number of records that got vouchers, and of those that did not. */
export interface Adopted {
  adopted: number;
  refused: number;
}

/** Reads whether the fleet is marked. A mark that masters did not make counts, but is reported. */
export async function readAdoption({
  secrets,
  mac,
  log,
}: {
  secrets: Pick<Bucket, "get">;
} & Pick<AdoptDeps, "mac" | "log">): Promise<Adoption> {
  const entry = await secrets.get(adoptionMark);
  if (entry === undefined) return "awaited";
  if (!isAdoptionMark(entry.value, mac)) {
    log.error("the mark of adopted enrollments is not one of a master", { key: adoptionMark });
  }
  return "done";
}

/** Whether a stored mark is one of the masters of this fleet. */
export function isAdoptionMark(value: Uint8Array, mac: RecordMac): boolean {
  let stored: unknown;
  try {
    stored = decode(value);
  } catch {
    return false;
  }
  const parsed = v.safeParse(storedMark, stored);
  return parsed.success && isEqualMac(mac("enrollments-vouched", parsed.output.at), parsed.output.voucher);
}

/** A mark of a master. @param now milliseconds since the Unix epoch */
export function newAdoptionMark(mac: RecordMac, now: number): Uint8Array {
  const at = rfc3339(now);
  return encode({ at, voucher: mac("enrollments-vouched", at) });
}

/** Vouches for every record, and marks the fleet. */
export async function adopt(deps: AdoptDeps): Promise<Adopted> {
  const { secrets, mac, clock, log } = deps;
  let adopted = 0;
  let left = await readUnvouched(deps);
  for (let round = 0; round < mostRounds && left.some(isReadable); round++) {
    const done = await mapBounded(left, { atOnce: adoptedAtOnce }, (one) => adoptOne(deps, one));
    adopted += done.filter((isDone) => isDone).length;
    left = await readUnvouched(deps);
  }
  const result = { adopted, refused: left.length };
  const marked = await secrets.create(adoptionMark, newAdoptionMark(mac, clock.now()));
  if (marked !== undefined) log.warn("enrollment records without vouchers adopted", { ...result });
  return result;
}

/** How many records have no valid vouchers. */
export async function countUnvouched(deps: Pick<AdoptDeps, "enrollments" | "vouchers">): Promise<number> {
  return (await readUnvouched(deps)).length;
}

type Unvouched = Pick<Entry, "key" | "revision"> & { record: Enrollment | undefined };

const isReadable = ({ record }: Unvouched) => record !== undefined;

async function adoptOne({ enrollments, vouchers, log }: AdoptDeps, one: Unvouched): Promise<boolean> {
  const { key, revision, record } = one;
  if (record === undefined) return false;
  const written = await enrollments.update(key, encodeRecord(vouchers.mark(record)), revision);
  if (written === undefined) return false;
  const { peelId, state } = record;
  log.debug("enrollment record adopted", { enrollment_id: key, peel_id: peelId, state });
  return true;
}

async function readUnvouched({
  enrollments,
  vouchers,
}: Pick<AdoptDeps, "enrollments" | "vouchers">): Promise<Unvouched[]> {
  const judging = { vouchers, adoption: "done" } as const;
  return (await enrollments.entries()).flatMap((entry) => {
    if (!("id" in parseKey(entry.key)) || judgeEntry(entry, judging) === "vouched") return [];
    const { key, value, revision } = entry;
    return [{ key, revision, record: readRecord(key, value) }];
  });
}

/** `undefined` for what was not a record for earlier versions either. */
function readRecord(key: string, value: Uint8Array): Enrollment | undefined {
  try {
    const record = decodeRecord(value);
    return record.id === key ? record : undefined;
  } catch {
    return undefined;
  }
}
