import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bucket, Entry } from "../../bus/mod.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";
import { decodeMap, decodeRecord, encodeRecord } from "./record.ts";
import { type Enrollments, parseKey } from "./store.ts";
import type { Vouchers } from "./vouchers.ts";

// Records of earlier versions have no vouchers, and get them once. The first master of this version marks the
// last revision of the bucket at its start. A writer cannot choose a revision, so a record without vouchers and
// with a later revision was not written by a master of this version.

/** Key of the bucket `secrets`, which only masters can write. */
const markKey = "_enrollments_vouched";
const adoptedAtOnce = 32;

const storedMark = v.object({
  at: v.string(),
  revision: v.pipe(v.number(), v.integer(), v.minValue(0)),
  voucher: v.instance(Uint8Array),
  /** When all records were adopted. */
  adopted_at: v.optional(v.string()),
});

export interface AdoptDeps {
  enrollments: Enrollments;
  vouchers: Vouchers;
  /** The bucket `secrets`. */
  secrets: Bucket;
  mac: RecordMac;
  clock: Pick<Clock, "now">;
  log: Log;
}

/** Number of records that got vouchers, and of those written too late to get them. */
export interface Adopted {
  adopted: number;
  refused: number;
}

/**
 * Marks the last revision of records that may be adopted, unless an earlier start did.
 *
 * @param now adopt them now, instead of waiting for an operator
 * @returns that revision; -1 when the mark is not one of a master
 */
export async function startAdoption(deps: AdoptDeps, now: boolean): Promise<number> {
  if ((await deps.secrets.get(markKey)) === undefined) {
    const revision = Math.max(0, ...(await deps.enrollments.entries()).map((entry) => entry.revision));
    const at = rfc3339(deps.clock.now());
    const voucher = deps.mac("enrollments-marked", [at, revision]);
    await deps.secrets.create(markKey, encode({ at, revision, voucher }));
  }
  const mark = await readMark(deps);
  if (now && mark !== undefined && mark.adoptedAt === undefined) await adopt(deps);
  return mark?.revision ?? -1;
}

/** Gives vouchers to the records of versions before. */
export async function adopt(deps: AdoptDeps): Promise<Adopted> {
  const { enrollments, vouchers, secrets, clock, log } = deps;
  const mark = await readMark(deps);
  const unvouched = (await enrollments.entries()).filter((entry) => isUnvouched(entry, vouchers));
  const before = unvouched.filter(({ revision }) => revision <= (mark?.revision ?? -1));
  const done = await mapBounded(before, { atOnce: adoptedAtOnce }, async ({ key, value, revision }) => {
    const record = decodeRecord(value);
    const written = await enrollments.update(key, encodeRecord(vouchers.mark(record)), revision);
    if (written !== undefined) {
      const { peelId, state } = record;
      log.info("enrollment record adopted", { enrollment_id: key, peel_id: peelId, state });
    }
    return written;
  });
  const adopted = done.filter((revision) => revision !== undefined).length;
  const result = { adopted, refused: unvouched.length - before.length };
  if (unvouched.length > 0) log.warn("enrollment records without vouchers adopted", { ...result });
  if (mark !== undefined && mark.adoptedAt === undefined) {
    const value = encode({ ...mark.stored, adopted_at: rfc3339(clock.now()) });
    await secrets.update(markKey, value, mark.storedRevision);
  }
  return result;
}

function isUnvouched({ key, value }: Entry, vouchers: Vouchers): boolean {
  if (!("id" in parseKey(key))) return false;
  try {
    return decodeRecord(value).id === key && vouchers.judge(decodeMap(value)) === "unvouched";
  } catch {
    return false;
  }
}

interface Mark {
  /** The last revision of the bucket of enrollments that may be adopted. */
  revision: number;
  adoptedAt: string | undefined;
  stored: v.InferOutput<typeof storedMark>;
  storedRevision: number;
}

/** @returns `undefined` without a valid mark of a master: then nothing is adopted */
async function readMark({ secrets, mac, log }: AdoptDeps): Promise<Mark | undefined> {
  const entry = await secrets.get(markKey);
  const parsed = v.safeParse(storedMark, entry === undefined ? undefined : decode(entry.value));
  if (entry !== undefined && parsed.success) {
    const { at, revision, voucher, adopted_at: adoptedAt } = parsed.output;
    if (isEqualMac(mac("enrollments-marked", [at, revision]), voucher)) {
      return { revision, adoptedAt, stored: parsed.output, storedRevision: entry.revision };
    }
  }
  log.error("the mark of adopted enrollments is not one of a master: nothing is adopted", { key: markKey });
  return undefined;
}
