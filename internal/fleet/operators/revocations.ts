import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import { instant } from "../../base/instant.ts";
import type { Log } from "../../base/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bucket } from "../../bus/storage/mod.ts";

/** The longest that a JWT of an operator lasts, milliseconds. */
export const maxJwtMs = 30 * 24 * 3_600_000;
/** How much the clock of a master may be ahead of the one that ends a JWT. */
const clockSkewMs = 3_600_000;

/** Until when the JWTs of a key do not count. Times are milliseconds since the Unix epoch. */
export interface OperatorRevocation {
  publicKey: string;
  name: string;
  /** JWTs that were issued up to this time are refused. */
  revokedAt: number;
  /** Since when the key is good again. */
  liftedAt?: number;
}

const stored = v.object({
  name: v.string(),
  revoked_at: instant,
  lifted_at: v.exactOptional(instant),
});

/** Whether every JWT that an entry refuses has ended, whatever the clocks of the fleet show. */
const isSpent = ({ revokedAt }: OperatorRevocation, now: number): boolean =>
  revokedAt + maxJwtMs + clockSkewMs <= now;

/** Revoked keys of operators, kept current by one watch. */
export interface OperatorRevocations {
  /** @throws SvcError `storage`, `conflict` */
  add(entry: Pick<OperatorRevocation, "publicKey" | "name">, now: number): Promise<OperatorRevocation>;
  /** Makes a key good again, if it was revoked. @returns whether it was */
  lift(publicKey: string, now: number): Promise<boolean>;
  /** The entries that still matter, the lifted ones included: with everything that is stored now. */
  current(now: number): Promise<readonly OperatorRevocation[]>;
  /** The entry of a key, as far as the watch has seen. */
  find(publicKey: string): OperatorRevocation | undefined;
  /** Removes entries that no longer matter. */
  prune(now: number): Promise<number>;
  onChange(run: () => void): () => void;
  stop(): void;
}

export function createOperatorRevocations({
  bucket,
  log,
}: {
  bucket: Bucket;
  log: Log;
}): OperatorRevocations {
  const known = new Map<string, { entry: OperatorRevocation; revision: number }>();
  const listeners = new Set<() => void>();
  const retain = (key: string, value: Uint8Array, revision: number) => {
    if ((known.get(key)?.revision ?? 0) >= revision) return;
    try {
      known.set(key, { entry: decodeRevocation(key, value), revision });
    } catch (cause) {
      log.error("a stored revocation of an operator cannot be read", { key, error: describeError(cause) });
    }
  };
  const watch = bucket.watch(({ key, value, revision }) => {
    if (value === undefined) known.delete(key);
    else retain(key, value, revision);
    for (const run of [...listeners]) run();
  });
  /** @param change what takes the place of an entry; `undefined` leaves it */
  const write = (
    publicKey: string,
    change: (before: OperatorRevocation | undefined) => OperatorRevocation | undefined,
  ) =>
    retryOnConflict(
      async () => {
        const existing = await bucket.get(publicKey);
        const before = existing === undefined ? undefined : readOrNothing(publicKey, existing.value);
        const next = change(before);
        if (next === undefined) return undefined;
        const value = encodeRevocation(next);
        const revision =
          existing === undefined
            ? await bucket.create(publicKey, value)
            : await bucket.update(publicKey, value, existing.revision);
        if (revision === undefined) return conflict;
        // Do not wait for the watch: claims without this entry would admit the operator again.
        retain(publicKey, value, revision);
        return next;
      },
      { exhausted: `the revocation of ${publicKey} is being changed by others` },
    );
  return {
    async add({ publicKey, name }, now) {
      const written = await write(publicKey, (before) => ({
        publicKey,
        name,
        // Later than what it replaces, whatever the clocks of two masters show.
        revokedAt: Math.max(now, (before?.revokedAt ?? 0) + 1),
      }));
      return written ?? { publicKey, name, revokedAt: now };
    },
    async lift(publicKey, now) {
      const lifted = await write(publicKey, (before) =>
        before === undefined || before.liftedAt !== undefined ? undefined : { ...before, liftedAt: now },
      );
      return lifted !== undefined;
    },
    async current(now) {
      await watch.caughtUp();
      return [...known.values()].map(({ entry }) => entry).filter((entry) => !isSpent(entry, now));
    },
    find: (publicKey) => known.get(publicKey)?.entry,
    async prune(now) {
      let pruned = 0;
      for (const [key, { entry, revision }] of known) {
        if (isSpent(entry, now) && (await bucket.remove(key, revision))) pruned++;
      }
      return pruned;
    },
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
    stop: () => watch.stop(),
  };
}

function encodeRevocation({ name, revokedAt, liftedAt }: OperatorRevocation): Uint8Array {
  return encode({
    name,
    revoked_at: rfc3339(revokedAt),
    ...defined({ lifted_at: liftedAt === undefined ? undefined : rfc3339(liftedAt) }),
  });
}

/** @throws when it is malformed */
function decodeRevocation(key: string, value: Uint8Array): OperatorRevocation {
  const { name, revoked_at, lifted_at } = v.parse(stored, decode(value));
  // The key of a watch is a slice of a message, and would keep the whole message in memory.
  return {
    publicKey: Buffer.from(key).toString(),
    name,
    revokedAt: revoked_at,
    ...defined({ liftedAt: lifted_at }),
  };
}

/** What others damaged is replaced. */
function readOrNothing(key: string, value: Uint8Array): OperatorRevocation | undefined {
  try {
    return decodeRevocation(key, value);
  } catch {
    return undefined;
  }
}
