import { SvcError } from "../../base/errors.ts";
import type { Bucket, Change } from "../../bus/storage/mod.ts";
import { parseKey, type Readings } from "../enrollment/store/mod.ts";
import type { DecisionBucket } from "./decision.ts";
import type { DecisionLog } from "./log.ts";
import {
  isDecision,
  isLost,
  isNews,
  isRemovable,
  type Judge,
  type Reading,
  readingOf,
  type Stored,
} from "./order.ts";

/** What a bucket needs so that its records are logged. */
export interface Recorder {
  log: Pick<DecisionLog, "get" | "store" | "flush">;
  judge(): Judge;
  /** A record is enrolled, approved and issued in a short time, and each time compared with the one before. */
  readings?: Readings | undefined;
  /** Called when a watch shows less of a record than the log has; it may only be late. */
  onSuspicion(key: string): void;
  /** Called when a decision that another master made could not be logged; it is kept for the next attempt. */
  onFailure(cause: unknown): void;
}

/**
 * A bucket whose decisions are logged: those that this master writes before its write returns, and those of others
 * when its watch shows them.
 *
 * Nothing is written to the bus while earlier decisions are not on disk: the disk must recover first. A key for
 * which the bus has less than this master knows cannot be read: "not found" would be taken as final, although a
 * server may only be behind after an election, and what is lost is put back soon.
 */
export function recordDecisions(bucket: Bucket, name: DecisionBucket, recorder: Recorder): Bucket {
  const recorded: Recorded = { ...recorder, name, indexes: new Set() };
  const { log, onSuspicion } = recorder;
  return {
    ...bucket,
    async get(key) {
      // What becomes known during the read is not missing in it.
      const before = knownOf(recorded, key);
      const entry = await bucket.get(key);
      if (!hasLess(recorded, key, entry?.value, before)) return entry;
      onSuspicion(key);
      throw new SvcError(
        "unavailable",
        `the bus has less of ${key} than this master knows: try again in a moment`,
      );
    },
    create: (key, value) => written(recorded, key, value, () => bucket.create(key, value)),
    update: (key, value, revision) =>
      written(recorded, key, value, () => bucket.update(key, value, revision)),
    put: async (key, value) => (await written(recorded, key, value, () => bucket.put(key, value))) ?? 0,
    async remove(key, revision) {
      const isRemoved = await bucket.remove(key, revision);
      if (isRemoved) noteIndex(recorded, key, undefined);
      if (isRemoved && log.get({ bucket: name, key }) !== undefined) await log.store({ bucket: name, key });
      return isRemoved;
    },
    watch: (onChange, keys) =>
      bucket.watch((change) => {
        noteIndex(recorded, change.key, change.value);
        if (!follow(recorded, change)) onSuspicion(change.key);
        onChange(change);
      }, keys),
  };
}

interface Recorded extends Recorder {
  readonly name: DecisionBucket;
  /** What the watch showed of the index of each peel; the log has records only. */
  readonly indexes: Set<string>;
}

const readStored = ({ readings }: Recorded, stored: Stored): Reading => readingOf(stored, readings);

/** What is known of a key at this moment. */
const knownOf = ({ log, name, indexes }: Recorded, key: string) => ({
  known: log.get({ bucket: name, key }),
  isIndexed: indexes.has(key),
});

function hasLess(
  recorded: Recorded,
  key: string,
  value: Uint8Array | undefined,
  { known, isIndexed }: ReturnType<typeof knownOf>,
): boolean {
  if (known === undefined) return value === undefined && isIndexed;
  if (value !== undefined && Buffer.compare(known.value, value) === 0) return false;
  const there = value === undefined ? undefined : readStored(recorded, { bucket: recorded.name, key, value });
  return isLost(there, readStored(recorded, known), recorded.judge());
}

function noteIndex({ name, indexes }: Recorded, key: string, value: Uint8Array | undefined): void {
  if (name !== "enrollments" || "id" in parseKey(key)) return;
  if (value === undefined) indexes.delete(key);
  else indexes.add(key);
}

async function written(
  recorded: Recorded,
  key: string,
  value: Uint8Array,
  write: () => Promise<number | undefined>,
): Promise<number | undefined> {
  const { log, judge, name: bucket } = recorded;
  await log.flush();
  const revision = await write();
  if (revision === undefined) return revision;
  noteIndex(recorded, key, value);
  const logged = log.get({ bucket, key });
  const stored = readStored(recorded, { bucket, key, value });
  if (!isDecision(stored, judge())) return revision;
  // The watch may have been first, also with what another master wrote after this.
  const known = logged === undefined ? undefined : readStored(recorded, logged);
  await (isNews(stored, known, judge()) ? log.store(stored) : log.flush());
  return revision;
}

/** @returns `false` when the log has more than the change shows */
function follow(recorded: Recorded, { key, value }: Change): boolean {
  const { log, judge, name: bucket, onFailure } = recorded;
  const logged = log.get({ bucket, key });
  if (value !== undefined && logged !== undefined && Buffer.compare(logged.value, value) === 0) return true;
  const known = logged === undefined ? undefined : readStored(recorded, logged);
  const stored = value === undefined ? undefined : readStored(recorded, { bucket, key, value });
  if (stored === undefined || !isDecision(stored, judge())) {
    if (known === undefined) return true;
    if (value !== undefined || !isRemovable(known, judge())) return false;
    log.store({ bucket, key }).catch(onFailure);
    return true;
  }
  if (isNews(stored, known, judge())) {
    log.store(stored).catch(onFailure);
    return true;
  }
  return known === undefined || !isLost(stored, known, judge());
}
