import type { Clock } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { clockToleranceMs } from "../../wire/verify-request.ts";
import { operatorLimits } from "./operator-budgets.ts";

/** A request is refused by its time after twice the tolerance; the rest covers clocks of masters. */
const generationMs = 3 * clockToleranceMs;
/** How many nonces of one key a master remembers: those of its budget in two generations. */
const maxOfOne = (2 * generationMs * operatorLimits.perSecond) / 1_000 + operatorLimits.burst;
/** How long a request that changes nothing waits for storage before the memory of this master decides alone. */
const readPatienceMs = 1_000;

/** The nonces of requests that were taken: each request counts once, on whichever master. */
export interface Nonces {
  /**
   * Takes a nonce.
   *
   * @param key public key of the operator: nobody uses up the nonces of another one
   * @param changes whether the request changes something. One that does not is answered also while nothing can be
   *   stored: sent again, it would tell the bus what the bus has seen already
   * @returns `false` when it was taken before
   * @throws SvcError `storage` when that cannot be known, `rate_limited` when this master remembers too many of this key
   */
  take(key: string, nonce: Uint8Array, changes: boolean): Promise<boolean>;
}

/**
 * Remembers nonces in a bucket that all masters share, and in the memory of this master: an attacker who controls the bus can
 * empty the bucket.
 *
 * @param bucket `request-nonces`: kept in memory, for three minutes; absent for requests to one master
 * @param max how many nonces of one key this master remembers at once
 */
export function createNonces({
  bucket,
  clock,
  max = maxOfOne,
}: {
  bucket?: Pick<Bucket, "create">;
  clock: Clock;
  max?: number;
}): Nonces {
  // Two generations: what was taken stays for one whole generation at least, and for two at most.
  let young = new Map<string, Set<string>>();
  let old = new Map<string, Set<string>>();
  let turnsAt = clock.monotonic() + generationMs;
  const turn = () => {
    const now = clock.monotonic();
    if (now < turnsAt) return;
    old = now < turnsAt + generationMs ? young : new Map();
    young = new Map();
    turnsAt = now + generationMs;
  };
  return {
    async take(key, nonce, changes) {
      turn();
      const hex = Buffer.from(nonce).toString("hex");
      const older = old.get(key);
      const own = young.get(key) ?? new Set();
      if (own.has(hex) || older?.has(hex) === true) return false;
      // Forgetting one that is still in time would let it be repeated.
      if (own.size + (older?.size ?? 0) >= max) {
        throw tooMany(turnsAt - clock.monotonic() + (older === undefined ? generationMs : 0));
      }
      young.set(key, own.add(hex));
      if (bucket === undefined) return true;
      const created = bucket.create(`${key}.${hex}`, encode(null)).then((revision) => revision !== undefined);
      return changes ? created : orAfter(clock, created);
    },
  };
}

/** @param retryAfterMs until the oldest are forgotten */
function tooMany(retryAfterMs: number): SvcError {
  const wait = formatDuration(Math.max(1, Math.ceil(retryAfterMs / 1_000)) * 1_000);
  const message = `this master remembers as many requests with this key as it may: try again in ${wait}`;
  return new SvcError("rate_limited", message, { retryAfterMs });
}

/** What the storage says if it says it soon; else that the nonce is new. */
function orAfter(clock: Clock, created: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.after(readPatienceMs, () => resolve(true));
    const end = (isNew: boolean) => {
      timer.cancel();
      resolve(isNew);
    };
    created.then(end, () => end(true));
  });
}
