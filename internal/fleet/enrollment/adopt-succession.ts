import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { encode } from "../../base/msgpack.ts";
import { record } from "../../base/record.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { type RecordMac, vouched } from "../../identity/mod.ts";
import { type Enrollment, encodeRecord } from "./record/mod.ts";
import { indexKey, type Vouchers } from "./store/mod.ts";

// `svc fleet succeed` has no bus: it leaves the records of the fleet before in a file next to the keys. Each master
// that starts stores those that are missing, and then marks the fleet. Every step creates what does not exist, so
// that two masters, and one that was killed in between, end with the same records. After the mark the file is
// ignored: a record that was removed since stays removed.

/** Key of the mark in the bucket `secrets`, which only masters can write. */
export const successionMark = "_succession";
const storedAtOnce = 32;
/** A mark that masters did not make is not one: else a write to the bucket would keep every peel out. */
const marks = vouched(record("mark", { serial: v.number(), at: v.string() }, { isOpen: true }), {
  kind: "succession-adopted",
});

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
  const found = entry && marks.read(mac, successionMark, entry.value);
  if (found?.serial === serial) return undefined;
  const stored = await mapBounded(records, { atOnce: storedAtOnce }, async (enrollment) => {
    const created = await enrollments.create(enrollment.id, encodeRecord(vouchers.mark(enrollment)));
    // The record first: a record without an index is invisible, and the next start completes it.
    await enrollments.create(indexKey(enrollment.peelId), encode(enrollment.id));
    return created !== undefined;
  });
  const count = stored.filter((isStored) => isStored).length;
  const mark = marks.encode(mac, { serial, at: rfc3339(clock.now()) });
  if (entry === undefined) await secrets.create(successionMark, mark);
  else await secrets.update(successionMark, mark, entry.revision);
  log.info("enrollments of the fleet before taken over", { serial, records: records.length, stored: count });
  return count;
}
