import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { record } from "../../base/record.ts";
import { optional, time } from "../../base/record-kinds.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { subscribe } from "../../base/subscribe.ts";
import type { Bucket } from "../../bus/storage/mod.ts";

/** The longest that a JWT of an operator lasts, milliseconds. */
export const maxJwtMs = 30 * 24 * 3_600_000;
/** How much the clock of a master may be ahead of the one that ends a JWT. */
const clockSkewMs = 3_600_000;

const stored = record(
  "revocation",
  {
    name: v.string(),
    /** JWTs that were issued up to this time are refused. */
    revokedAt: ["revoked_at", time],
    /** Since when the key is good again. */
    liftedAt: ["lifted_at", optional(time)],
  },
  { isOpen: true },
);

/** Until when the JWTs of a key do not count. Times are milliseconds since the Unix epoch. */
export type OperatorRevocation = ReturnType<typeof stored.decode> & { publicKey: string };

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
      known.set(key, { entry: { publicKey: ownText(key), ...stored.decode(value) }, revision });
    } catch (cause) {
      log.error("a stored revocation of an operator cannot be read", { key, error: describeError(cause) });
    }
  };
  const watch = bucket.watch(({ key, value, revision }) => {
    if (value === undefined) known.delete(key);
    else retain(key, value, revision);
    for (const run of [...listeners]) run();
  });
  const write = (publicKey: string, change: Change) =>
    retryOnConflict(
      async () => {
        const written = await replace(bucket, publicKey, change);
        if (written === undefined || written === conflict) return written;
        // Do not wait for the watch: claims without this entry would admit the operator again.
        retain(publicKey, written.value, written.revision);
        return written.next;
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
    onChange: (run) => subscribe(listeners, run),
    stop: () => watch.stop(),
  };
}

/** The key of a watch is a slice of a message, and would keep the whole message in memory. */
const ownText = (key: string) => Buffer.from(key).toString();

/** What takes the place of an entry; `undefined` leaves it. */
type Change = (before: OperatorRevocation | undefined) => OperatorRevocation | undefined;

async function replace(bucket: Bucket, publicKey: string, change: Change) {
  const existing = await bucket.get(publicKey);
  // What others damaged is replaced.
  const found = existing && stored.decodeOrNothing(existing.value);
  const next = change(found && { publicKey, ...found });
  if (next === undefined) return undefined;
  const value = stored.encode(next);
  const revision =
    existing === undefined
      ? await bucket.create(publicKey, value)
      : await bucket.update(publicKey, value, existing.revision);
  return revision === undefined ? conflict : { next, value, revision };
}
