import type { Bucket, Change } from "../../bus/mod.ts";
import type { DecisionBucket } from "./decision.ts";
import type { DecisionLog } from "./log.ts";
import { isDecision, isRemovable, orderOf } from "./order.ts";

/** What a bucket needs so that its records are logged. */
export interface Recorder {
  log: Pick<DecisionLog, "get" | "keep" | "flush">;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Called when a watch shows less of a record than the log has; it may only be late. */
  onSuspicion(key: string): void;
  /** Called when a decision that another master made could not be logged; it is kept for the next attempt. */
  onFailure(cause: unknown): void;
}

/**
 * A bucket whose decisions are logged: those that this master writes before its write returns, and those of others
 * when its watch shows them.
 *
 * Nothing is written to the bus while earlier decisions are not on disk: the disk must recover first.
 */
export function recordDecisions(bucket: Bucket, name: DecisionBucket, recorder: Recorder): Bucket {
  const { log, now, onSuspicion, onFailure } = recorder;
  const written = async (key: string, value: Uint8Array, write: () => Promise<number | undefined>) => {
    await log.flush();
    const revision = await write();
    const stored = { bucket: name, key, value };
    if (revision === undefined || !isDecision(stored, now())) return revision;
    // The watch may have been first.
    const isKnown = Buffer.from(log.get(stored)?.value ?? []).equals(value);
    await (isKnown ? log.flush() : log.keep(stored));
    return revision;
  };
  /** @returns `false` when the log has more than the change shows */
  const follow = ({ key, value }: Change): boolean => {
    const known = log.get({ bucket: name, key });
    if (value === undefined || !isDecision({ bucket: name, key, value }, now())) {
      if (known === undefined) return true;
      if (value !== undefined || !isRemovable(known, now())) return false;
      log.keep({ bucket: name, key }).catch(onFailure);
      return true;
    }
    const stored = { bucket: name, key, value };
    const order = known === undefined ? "newer" : orderOf(stored, known);
    if (order === "newer") log.keep(stored).catch(onFailure);
    return order !== "older";
  };
  return {
    ...bucket,
    create: (key, value) => written(key, value, () => bucket.create(key, value)),
    update: (key, value, revision) => written(key, value, () => bucket.update(key, value, revision)),
    put: async (key, value) => (await written(key, value, () => bucket.put(key, value))) ?? 0,
    async remove(key, revision) {
      const isRemoved = await bucket.remove(key, revision);
      if (isRemoved && log.get({ bucket: name, key }) !== undefined) await log.keep({ bucket: name, key });
      return isRemoved;
    },
    watch: (onChange, keys) =>
      bucket.watch((change) => {
        if (!follow(change)) onSuspicion(change.key);
        onChange(change);
      }, keys),
  };
}
