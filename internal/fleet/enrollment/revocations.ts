import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
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
  /** When the JWT expires; the entry has no use after that. */
  expiresAt: number;
  /** Whether the entry can be lifted; entries of a revocation are final. */
  suspension?: true;
  /** From when the key is good again; in the future for a peel that is only disconnected. */
  liftedAt?: number;
}

/** Whether a key is off the list again. */
export const isLifted = ({ liftedAt }: Revocation, now: number): boolean =>
  liftedAt !== undefined && liftedAt <= now;

const stored = v.object({
  peel_id: v.string(),
  enrollment_id: v.string(),
  revoked_at: instant,
  expires_at: instant,
  suspension: v.optional(v.literal(true)),
  lifted_at: v.optional(instant),
});

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
   * Takes the key of a suspension off the list. The entry stays, as lifted: otherwise masters that have seen
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
  /** Removes expired entries. */
  prune(now: number): Promise<number>;
  /** Calls `run` for each new entry of another writer: another master, or an operator directly. */
  onForeign(run: () => void): () => void;
  stop(): void;
}

export function createRevocations({ bucket, log }: { bucket: Bucket; log: Log }): Revocations {
  const known = new Map<string, { entry: Revocation; revision: number }>();
  const onForeign = new Set<() => void>();
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
    if ((known.get(key)?.revision ?? 0) >= revision) return;
    keep(key, value, revision);
    for (const run of onForeign) run();
  });
  // Do not wait for the watch: a claim without this entry would admit the peel again.
  const remember = async ({ busPublicKey }: Revocation) => {
    const written = await bucket.get(busPublicKey);
    if (written === undefined) throw new SvcError("storage", "the revocation was stored, but is missing now");
    keep(written.key, written.value, written.revision);
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
      const lifted: Revocation = { ...entry, suspension: true, liftedAt: now };
      await write(bucket, lifted, (stored) => {
        if (stored.suspension === true) return stored.liftedAt === undefined;
        throw new SvcError("conflict", `the enrollment ${entry.enrollmentId} was revoked`);
      });
      await remember(entry);
    },
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

/** Stores an entry unless one is stored that revokes its key for at least as long. */
export function writeRevocation(bucket: Bucket, entry: Revocation): Promise<void> {
  return write(bucket, entry, (stored) => isStronger(entry, stored));
}

function isStronger(entry: Revocation, stored: Revocation): boolean {
  if (stored.suspension !== true) return false;
  if (entry.suspension !== true) return true;
  if (stored.liftedAt === undefined) return false;
  return entry.liftedAt === undefined || entry.liftedAt > stored.liftedAt;
}

/** @param replaces whether an entry that is stored gives way to the new one */
function write(bucket: Bucket, entry: Revocation, replaces: (stored: Revocation) => boolean): Promise<void> {
  const key = entry.busPublicKey;
  const value = encodeRevocation(entry);
  const attempt = async () => {
    const existing = await bucket.get(key);
    if (existing === undefined) return (await bucket.create(key, value)) === undefined ? conflict : undefined;
    if (!replaces(decodeRevocation(key, existing.value))) return undefined;
    return (await bucket.update(key, value, existing.revision)) === undefined ? conflict : undefined;
  };
  return retryOnConflict(attempt, {
    exhausted: `the revocation of ${entry.peelId} is being changed by others`,
  });
}

function encodeRevocation(entry: Revocation): Uint8Array {
  return encode({
    peel_id: entry.peelId,
    enrollment_id: entry.enrollmentId,
    revoked_at: rfc3339(entry.revokedAt),
    expires_at: rfc3339(entry.expiresAt),
    ...defined({
      suspension: entry.suspension,
      lifted_at: entry.liftedAt === undefined ? undefined : rfc3339(entry.liftedAt),
    }),
  });
}

function decodeRevocation(key: string, value: Uint8Array): Revocation {
  const { peel_id, enrollment_id, revoked_at, expires_at, suspension, lifted_at } = v.parse(
    stored,
    decode(value),
  );
  return {
    busPublicKey: key,
    peelId: peel_id,
    enrollmentId: enrollment_id,
    revokedAt: revoked_at,
    expiresAt: expires_at,
    ...defined({ suspension, liftedAt: lifted_at }),
  };
}
