import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { clockToleranceMs } from "../../wire/verify-request.ts";

/** A request is refused by its time after twice the tolerance; the rest covers clocks of masters. */
const generationMs = 3 * clockToleranceMs;
/** How many requests a master remembers by itself; more than operators send in three minutes. */
const maxRemembered = 200_000;
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
   * @throws SvcError `storage` when that cannot be known, `unavailable` when this master remembers too many
   */
  take(key: string, nonce: Uint8Array, changes: boolean): Promise<boolean>;
}

/**
 * Remembers nonces in a bucket that all masters share, and in the memory of this master: an attacker who controls the bus can
 * empty the bucket.
 *
 * @param bucket `request-nonces`: kept in memory, for three minutes; absent for requests to one master
 * @param max how many nonces this master remembers at once
 */
export function createNonces({
  bucket,
  clock,
  max = maxRemembered,
}: {
  bucket?: Pick<Bucket, "create">;
  clock: Clock;
  max?: number;
}): Nonces {
  // Two generations: what was taken stays for one whole generation at least, and for two at most.
  let young = new Set<string>();
  let old = new Set<string>();
  let turnsAt = clock.monotonic() + generationMs;
  const turn = () => {
    const now = clock.monotonic();
    if (now < turnsAt) return;
    old = now < turnsAt + generationMs ? young : new Set();
    young = new Set();
    turnsAt = now + generationMs;
  };
  return {
    async take(key, nonce, changes) {
      turn();
      const id = `${key}.${Buffer.from(nonce).toString("hex")}`;
      if (young.has(id) || old.has(id)) return false;
      // Forgetting one that is still in time would let it be repeated.
      if (young.size + old.size >= max) {
        throw new SvcError("unavailable", "this master got too many signed requests: try again in 3 minutes");
      }
      young.add(id);
      if (bucket === undefined) return true;
      const created = bucket.create(id, encode(null)).then((revision) => revision !== undefined);
      return changes ? created : orAfter(clock, created);
    },
  };
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
