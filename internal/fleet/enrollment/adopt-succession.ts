import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";
import { type Enrollment, encodeRecord } from "./record/mod.ts";
import type { Vouchers } from "./store/mod.ts";
import { indexKey } from "./store/mod.ts";

// `svc fleet succeed` has no bus: it leaves the records of the fleet before in a file next to the keys. Each master
// that starts stores those that are missing, and then marks the fleet. Every step creates what does not exist, so
// that two masters, and one that was killed in between, end with the same records. After the mark the file is
// ignored: a record that was removed since stays removed.

/** Key of the mark in the bucket `secrets`, which only masters can write. */
export const successionMark = "_succession";
const storedAtOnce = 32;
const purpose = "succession-adopted";

const storedMark = v.object({ serial: v.number(), at: v.string(), voucher: v.instance(Uint8Array) });

export interface AdoptSuccessionDeps {
  /** The bucket `enrollments`. */
  enrollments: Pick<Bucket, "create">;
  /** The bucket `secrets`. */
  secrets: Pick<Bucket, "get" | "create" | "update">;
  /** Of this fleet. */
  vouchers: Vouchers;
  mac: RecordMac;
  clock: Clock;
  log: Log;
}

/**
 * Stores the records of a succession, once for the whole fleet.
 *
 * @returns how many were stored by this call; `undefined` when the fleet has them
 */
export async function adoptSuccession(
  deps: AdoptSuccessionDeps,
  { serial, records }: { serial: number; records: readonly Enrollment[] },
): Promise<number | undefined> {
  const { enrollments, secrets, vouchers, mac, clock, log } = deps;
  const entry = await secrets.get(successionMark);
  if (entry !== undefined && isMarked(entry.value, serial, mac)) return undefined;
  const stored = await mapBounded(records, { atOnce: storedAtOnce }, async (record) => {
    const created = await enrollments.create(record.id, encodeRecord(vouchers.mark(record)));
    // The record first: a record without an index is invisible, and the next start completes it.
    await enrollments.create(indexKey(record.peelId), encode(record.id));
    return created !== undefined;
  });
  const count = stored.filter((isStored) => isStored).length;
  const at = rfc3339(clock.now());
  const mark = encode({ serial, at, voucher: mac(purpose, [serial, at]) });
  if (entry === undefined) await secrets.create(successionMark, mark);
  else await secrets.update(successionMark, mark, entry.revision);
  log.info("enrollments of the fleet before taken over", { serial, records: records.length, stored: count });
  return count;
}

/** A mark that masters did not make is not one: else a write to the bucket would keep every peel out. */
function isMarked(value: Uint8Array, serial: number, mac: RecordMac): boolean {
  try {
    const mark = v.parse(storedMark, decode(value));
    return mark.serial === serial && isEqualMac(mac(purpose, [serial, mark.at]), mark.voucher);
  } catch {
    return false;
  }
}
