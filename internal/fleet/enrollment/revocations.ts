import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { instant } from "../../base/instant.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bucket } from "../../bus/mod.ts";

/** One revoked key of the bus. Times are milliseconds since the Unix epoch. */
export interface Revocation {
  /** The `U…` key of the peel's JWT; also the key of the entry. */
  busPublicKey: string;
  peelId: string;
  enrollmentId: string;
  revokedAt: number;
  /** When the JWT ends by itself; the entry is of no use after that. */
  expiresAt: number;
  /** Nobody revoked it: masters refuse it because it is in no record. It ends when a record has the key. */
  stray?: true;
}

const stored = v.object({
  peel_id: v.string(),
  enrollment_id: v.string(),
  revoked_at: instant,
  expires_at: instant,
  stray: v.optional(v.literal(true)),
});

/** How much the clock of a master may be ahead of the one that ends a JWT. */
const clockSkewMs = 60 * 60 * 1000;

/** Whether a JWT that ends at this time is certainly over, whatever the clocks of the fleet say. */
export const isOver = (expiresAt: number, now: number): boolean => expiresAt + clockSkewMs <= now;

/** The source of truth of what is revoked, kept current by one watch. */
export interface Revocations {
  /**
   * Stores an entry; one that is there already stays as it is, unless it only refuses a stray. It is `seen` at once.
   */
  add(entry: Revocation): Promise<void>;
  /**
   * Every entry that is not over, by bus public key: what the watch has seen so far, and what this
   * master added.
   */
  seen(now: number): Promise<ReadonlyMap<string, Revocation>>;
  /** The same, with everything that is stored now. */
  current(now: number): Promise<ReadonlyMap<string, Revocation>>;
  /** Ends the refusal of a stray. Nothing else is ever taken back. */
  release(busPublicKey: string): Promise<void>;
  /** Strays whose refusal this master ended: the bus must forget them. */
  readonly released: ReadonlySet<string>;
  /** Removes entries that are over. */
  prune(now: number): Promise<number>;
  /** Calls `run` for each new entry that somebody else stored: another master, or an operator directly. */
  onForeign(run: () => void): () => void;
  stop(): void;
}

export function createRevocations({ bucket, log }: { bucket: Bucket; log: Log }): Revocations {
  const known = new Map<string, { entry: Revocation; revision: number }>();
  const onForeign = new Set<() => void>();
  const released = new Set<string>();
  const keep = (key: string, value: Uint8Array, revision: number) => {
    try {
      known.set(key, { entry: decodeRevocation(key, value), revision });
    } catch (cause) {
      log.error("a stored revocation cannot be read", { key, error: describeError(cause) });
    }
  };
  const watch = bucket.watch(({ key, value, revision }) => {
    if (value === undefined) {
      known.delete(key);
      return;
    }
    const before = known.get(key);
    if (before !== undefined && before.revision >= revision) return;
    keep(key, value, revision);
    for (const run of onForeign) run();
  });
  const live = (now: number) => {
    const entries = new Map<string, Revocation>();
    for (const [key, { entry }] of known) if (!isOver(entry.expiresAt, now)) entries.set(key, entry);
    return entries;
  };
  return {
    async add(entry) {
      await writeRevocation(bucket, entry);
      released.delete(entry.busPublicKey);
      // Not left to the watch: a claim made without this entry would let the peel back in.
      const written = await bucket.get(entry.busPublicKey);
      if (written === undefined) throw new SvcError("storage", "the revocation was stored and is gone again");
      keep(written.key, written.value, written.revision);
    },
    async release(busPublicKey) {
      const entry = known.get(busPublicKey);
      if (entry?.entry.stray !== true || !(await bucket.remove(busPublicKey, entry.revision))) return;
      known.delete(busPublicKey);
      released.add(busPublicKey);
    },
    released,
    seen: (now) => watch.ready.then(() => live(now)),
    current: (now) => watch.caughtUp().then(() => live(now)),
    async prune(now) {
      let pruned = 0;
      for (const [key, { entry, revision }] of known) {
        if (isOver(entry.expiresAt, now) && (await bucket.remove(key, revision))) pruned++;
      }
      return pruned;
    },
    onForeign(run) {
      onForeign.add(run);
      return () => onForeign.delete(run);
    },
    stop: () => watch.stop(),
  };
}

/** Stores an entry unless its key is on the list already. A revocation replaces the refusal of a stray. */
export async function writeRevocation(bucket: Bucket, entry: Revocation): Promise<void> {
  const value = encode({
    peel_id: entry.peelId,
    enrollment_id: entry.enrollmentId,
    revoked_at: rfc3339(entry.revokedAt),
    expires_at: rfc3339(entry.expiresAt),
    stray: entry.stray,
  });
  const attempt = async () => {
    if ((await bucket.create(entry.busPublicKey, value)) !== undefined || entry.stray === true) return;
    const there = await bucket.get(entry.busPublicKey);
    if (there === undefined) return conflict;
    if (decodeRevocation(there.key, there.value).stray !== true) return;
    return (await bucket.update(entry.busPublicKey, value, there.revision)) === undefined
      ? conflict
      : undefined;
  };
  await retryOnConflict(attempt, { exhausted: "the revocation is being changed by others: try again" });
}

/** The refused strays, oldest first. */
export async function readStrays(bucket: Pick<Bucket, "entries">, now: number): Promise<Revocation[]> {
  const found = (await bucket.entries()).flatMap(({ key, value }) => {
    try {
      return [decodeRevocation(key, value)];
    } catch {
      return [];
    }
  });
  return found
    .filter(({ stray, expiresAt }) => stray === true && !isOver(expiresAt, now))
    .sort((one, other) => one.revokedAt - other.revokedAt);
}

/**
 * Reads an entry.
 *
 * @throws Error when it is malformed
 */
export function decodeRevocation(key: string, value: Uint8Array): Revocation {
  const { peel_id, enrollment_id, revoked_at, expires_at, stray } = v.parse(stored, decode(value));
  return {
    busPublicKey: key,
    peelId: peel_id,
    enrollmentId: enrollment_id,
    revokedAt: revoked_at,
    expiresAt: expires_at,
    ...(stray === true ? { stray } : {}),
  };
}
