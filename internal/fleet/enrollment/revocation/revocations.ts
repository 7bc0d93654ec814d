import * as v from "valibot";
import { describeError, SvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { record } from "../../../base/record.ts";
import { optional, time } from "../../../base/record-kinds.ts";
import { conflict, retryOnConflict } from "../../../base/retry-on-conflict.ts";
import { subscribe } from "../../../base/subscribe.ts";
import type { Bucket } from "../../../bus/storage/mod.ts";

const stored = record(
  "revocation",
  {
    peelId: ["peel_id", v.string()],
    enrollmentId: ["enrollment_id", v.string()],
    revokedAt: ["revoked_at", time],
    /** When the JWT expires; the entry has no use after that. */
    expiresAt: ["expires_at", time],
    /** Whether the entry can be lifted; entries of a revocation are final. */
    suspension: optional(v.literal(true)),
    /** No one revoked the key: masters refuse it because it is in no record. Lifted when a record has the key. */
    stray: optional(v.literal(true)),
    /** From when the key is good again; in the future for a peel that is only disconnected. */
    liftedAt: ["lifted_at", optional(time)],
  },
  { isOpen: true },
);

/** One revoked key of the bus. Times are milliseconds since the Unix epoch. */
export type Revocation = ReturnType<typeof stored.decode> & {
  /** The `U…` key of the peel's JWT; also the key of the entry. */
  busPublicKey: string;
};

/** Whether a key is off the list again. */
export const isLifted = ({ liftedAt }: Revocation, now: number): boolean =>
  liftedAt !== undefined && liftedAt <= now;

/** Whether masters refuse this key now because it is in no record. */
export const isRefused = (entry: Revocation, now: number): boolean =>
  entry.stray === true && !isLifted(entry, now);

/** How much the clock of a master may be ahead of the one that ends a JWT. */
const clockSkewMs = 60 * 60 * 1000;

/** Whether a JWT with this expiry has certainly expired, whatever the clocks of the fleet show. */
export const isOver = (expiresAt: number, now: number): boolean => expiresAt + clockSkewMs <= now;

/** The source of truth for revocations, kept current by one watch. */
export interface Revocations {
  /**
   * Stores an entry. It is `seen` immediately. An existing one that revokes the key for longer stays
   * unchanged: a revocation is final, and a suspension lasts until it is lifted.
   */
  add(entry: Revocation): Promise<void>;
  /**
   * Takes the key of a suspension or of a stray off the list. The entry stays, as lifted: otherwise masters that have seen
   * the key revoked would keep it revoked.
   *
   * @throws SvcError `conflict` when the key was revoked
   */
  lift(entry: Revocation, now: number): Promise<void>;
  /**
   * Every unexpired entry, by bus public key, also the lifted ones: those that the watch has seen so far, and
   * those of this master.
   */
  seen(now: number): Promise<ReadonlyMap<string, Revocation>>;
  /** The same, including everything that is stored now. */
  current(now: number): Promise<ReadonlyMap<string, Revocation>>;
  /** What was seen so far of one key, also when it has expired. */
  find(busPublicKey: string): Revocation | undefined;
  /** Removes expired entries. */
  prune(now: number): Promise<number>;
  /** Calls `run` for each new entry of another writer: another master, or an operator directly. */
  onForeign(run: () => void): () => void;
  /** Calls `run` with each entry that is stored from now on, by whomever. */
  onEntry(run: (entry: Revocation) => void): () => void;
  stop(): void;
}

export function createRevocations({ bucket, log }: { bucket: Bucket; log: Log }): Revocations {
  const known = new Map<string, { entry: Revocation; revision: number }>();
  const onForeign = new Set<() => void>();
  const onEntry = new Set<(entry: Revocation) => void>();
  let isReady = false;
  const retain = (key: string, value: Uint8Array, revision: number) => {
    let entry: Revocation;
    try {
      entry = decodeRevocation(key, value);
    } catch (cause) {
      log.error("a stored revocation cannot be read", { key, error: describeError(cause) });
      return;
    }
    known.set(key, { entry, revision });
    if (isReady) for (const run of onEntry) run(entry);
  };
  const watch = bucket.watch(({ key, value, revision }) => {
    if (value === undefined) {
      known.delete(key);
      return;
    }
    if ((known.get(key)?.revision ?? 0) >= revision) return;
    retain(key, value, revision);
    for (const run of onForeign) run();
  });
  watch.ready.then(
    () => {
      isReady = true;
    },
    () => {},
  );
  // Do not wait for the watch: a claim without this entry would admit the peel again.
  const remember = async ({ busPublicKey }: Revocation) => {
    const written = await bucket.get(busPublicKey);
    if (written === undefined) throw new SvcError("storage", "the revocation was stored, but is missing now");
    retain(written.key, written.value, written.revision);
  };
  const live = (now: number) => {
    const entries = new Map<string, Revocation>();
    for (const [key, { entry }] of known) if (!isOver(entry.expiresAt, now)) entries.set(key, entry);
    return entries;
  };
  return {
    async add(entry) {
      await writeRevocation(bucket, entry);
      await remember(entry);
    },
    async lift(entry, now) {
      const mark: Pick<Revocation, Mark> = entry.stray === true ? { stray: true } : { suspension: true };
      await write(bucket, { ...entry, ...mark, liftedAt: now }, (before) => {
        if (weight(before) < 2) return before.liftedAt === undefined && weight(before) <= weight(mark);
        throw new SvcError("conflict", `the enrollment ${entry.enrollmentId} was revoked`);
      });
      await remember(entry);
    },
    seen: (now) => watch.ready.then(() => live(now)),
    find: (busPublicKey) => known.get(busPublicKey)?.entry,
    current: (now) => watch.caughtUp().then(() => live(now)),
    async prune(now) {
      let pruned = 0;
      for (const [key, { entry, revision }] of known) {
        if (isOver(entry.expiresAt, now) && (await bucket.remove(key, revision))) pruned++;
      }
      return pruned;
    },
    onForeign: (run) => subscribe(onForeign, run),
    onEntry: (run) => subscribe(onEntry, run),
    stop: () => watch.stop(),
  };
}

/** Stores an entry unless one is stored that revokes its key for at least as long. */
export function writeRevocation(bucket: Bucket, entry: Revocation): Promise<void> {
  return write(bucket, entry, (before) => isStronger(entry, before));
}

/** What makes an entry less than a revocation. */
type Mark = "suspension" | "stray";

/** How final an entry is: the refusal of a stray, a suspension, a revocation. */
function weight({ suspension, stray }: Pick<Revocation, Mark>): number {
  return stray === true ? 0 : suspension === true ? 1 : 2;
}

function isStronger(entry: Revocation, stored: Revocation): boolean {
  if (stored.liftedAt === undefined) return weight(entry) > weight(stored);
  return entry.liftedAt === undefined || entry.liftedAt > stored.liftedAt;
}

/**
 * Compares two entries of one key. A revocation is final; of the others the one that was written last counts.
 *
 * @returns more than 0 when `one` is later
 */
export function compareRevocations(one: Revocation, other: Revocation): number {
  const [isFinal, wasFinal] = [one, other].map((entry) => Number(weight(entry) === 2));
  if (isFinal === 1 || wasFinal === 1) return (isFinal ?? 0) - (wasFinal ?? 0);
  return one.revokedAt - other.revokedAt;
}

/** @param replaces whether an entry that is stored gives way to the new one */
function write(bucket: Bucket, entry: Revocation, replaces: (stored: Revocation) => boolean): Promise<void> {
  const key = entry.busPublicKey;
  const attempt = async () => {
    const existing = await bucket.get(key);
    if (existing === undefined) {
      return (await bucket.create(key, stored.encode(entry))) === undefined ? conflict : undefined;
    }
    const before = stored.decodeOrNothing(existing.value);
    // What nothing can read revokes nothing, and must not keep its key from being revoked.
    const isFirst = before === undefined && entry.liftedAt === undefined;
    if (!isFirst && !replaces(decodeRevocation(key, existing.value))) return undefined;
    // Later than what it replaces, whatever the clocks of two masters show: a log of decisions compares the times.
    const revokedAt = Math.max(entry.revokedAt, (before?.revokedAt ?? 0) + 1);
    const next = weight(entry) === 2 ? entry : { ...entry, revokedAt };
    return (await bucket.update(key, stored.encode(next), existing.revision)) === undefined
      ? conflict
      : undefined;
  };
  return retryOnConflict(attempt, {
    exhausted: `the revocation of ${entry.peelId} is being changed by others`,
  });
}

/** The refused strays, oldest first. */
export async function readStrays(bucket: Pick<Bucket, "entries">, now: number): Promise<Revocation[]> {
  const found = (await bucket.entries()).flatMap(({ key, value }) => {
    const entry = stored.decodeOrNothing(value);
    return entry === undefined ? [] : [{ busPublicKey: key, ...entry }];
  });
  return found
    .filter((entry) => isRefused(entry, now) && !isOver(entry.expiresAt, now))
    .sort((one, other) => one.revokedAt - other.revokedAt);
}

/** Reads an entry. @throws SvcError `internal` when it is malformed */
export const decodeRevocation = (key: string, value: Uint8Array): Revocation => ({
  busPublicKey: key,
  ...stored.decode(value),
});
