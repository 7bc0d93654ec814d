import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { type Choice, chooseUse, holdMs, type Place, placeOf, settledMs } from "./choose.ts";
import type { JoinTokenRecord } from "./record.ts";
import { encodeUse, type Use, useKey } from "./use.ts";
import type { JoinTokenView, StoredUse } from "./view.ts";

/** A host that joins with a token. */
export interface Joining {
  enrollment: string;
  /** Encoded. */
  peelId: string;
  publicKey: string;
}

/** A use that was taken. */
export interface Taken {
  /**
   * Refuses to continue when it took too long, so that another master may have the use by now.
   *
   * @throws SvcError `unavailable`
   */
  assertHeld(): void;
  /** It is free again. It does not fail: what cannot be written is free after a while by itself. */
  giveBack(): Promise<void>;
}

/**
 * What became of a use: `none` when its enrollment does not exist or nobody admitted it, `live` for a host that was
 * admitted, `over` for one that was revoked since.
 */
export type UseResult = "none" | "live" | "over";

export interface TakeDeps {
  bucket: Pick<Bucket, "create" | "update">;
  view: JoinTokenView;
  mac: RecordMac;
  /** @throws SvcError `storage` when that cannot be read */
  resultOf(enrollment: string): Promise<UseResult>;
  clock: Pick<Clock, "now" | "monotonic">;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/** How often masters repair records without an index. */
const repairMs = 60_000;
const readAtOnce = 64;
/** How many lost races in a row are bad luck. */
const maxLost = 64;

/**
 * Takes uses of tokens, one write for each. Of two masters that want the same use, one gets it.
 *
 * A master that dies between the use and the record leaves a use without an enrollment. The same host gets it again
 * when it asks again, and after `settledMs` any other host does. Until then the same host is asked to come again: the
 * first master may still be at work.
 */
export function createTakings(deps: TakeDeps) {
  const { bucket, view, mac, clock, jitter, log } = deps;
  /** Slots that this master is writing, by their key. */
  const writing = new Set<string>();
  /** Writes of uses whose enrollment was found, by token. */
  const settled = new Map<string, Set<string>>();
  const settle = (token: string, { slot, n }: { slot: number; n: number }) => {
    const known = settled.get(token) ?? new Set<string>();
    if (known.size === 0) for (const id of settled.keys()) if (view.get(id) === undefined) settled.delete(id);
    settled.set(token, known.add(`${slot}/${n}`));
  };

  const resultOf = async (token: string, use: StoredUse & { slot: number }): Promise<UseResult> => {
    const result = await deps.resultOf(use.enrollment);
    if (result !== "none") settle(token, use);
    return result;
  };
  const firstOfNothing = async (token: string, uses: Choice["doubtful"]): Promise<Place | undefined> => {
    for (let from = 0; from < uses.length; from += readAtOnce) {
      const some = uses.slice(from, from + readAtOnce);
      const found = await Promise.all(some.map((use) => resultOf(token, use)));
      const use = some[found.indexOf("none")];
      if (use !== undefined) return placeOf(use);
    }
    return undefined;
  };
  const write = async (token: string, { slot, revision, n }: Place, use: Omit<Use, "n">) => {
    const key = useKey(token, slot);
    writing.add(key);
    try {
      const value = encodeUse(mac, { ...use, n }, key);
      const written = await (revision === undefined
        ? bucket.create(key, value)
        : bucket.update(key, value, revision));
      if (written !== undefined) view.apply({ key, value, revision: written });
      return written;
    } finally {
      writing.delete(key);
    }
  };
  const pick = async (token: JoinTokenRecord, choice: Choice): Promise<Place | undefined> => {
    const { own, free, doubtful } = choice;
    const result = own === undefined ? "over" : await deps.resultOf(own.enrollment);
    // A host that was admitted does not come here, unless its master died between the record and its index: masters
    // complete that within a minute.
    if (result === "live") throw busy(repairMs);
    if (own !== undefined && result === "none") {
      const leftMs = own.at + settledMs - clock.now();
      if (leftMs <= 0) return placeOf(own);
      throw busy(leftMs);
    }
    if (free !== undefined) return free;
    return firstOfNothing(token.id, doubtful);
  };
  const choose = (token: JoinTokenRecord, publicKey: string) =>
    chooseUse(token, view.usesOf(token.id), {
      ...{ own: view.slotOf(token.id, publicKey), now: clock.now(), start: jitter() },
      busy: (slot) => writing.has(useKey(token.id, slot)),
      isSettled: (slot, n) => settled.get(token.id)?.has(`${slot}/${n}`) === true,
    });

  return {
    /**
     * Takes one use for a host.
     *
     * @returns `undefined` when all are taken
     * @throws SvcError `unavailable` when a use of this host may still be at work, or with the bus
     */
    async take(token: JoinTokenRecord, host: Joining): Promise<Taken | undefined> {
      for (let lost = 0; lost < maxLost; lost++) {
        const place = await pick(token, choose(token, host.publicKey));
        if (place === undefined) return undefined;
        const since = clock.monotonic();
        const use = { free: false, ...host, at: clock.now() };
        const revision = await write(token.id, place, use);
        if (revision === undefined) {
          await view.caughtUp();
          continue;
        }
        const held: Place = { slot: place.slot, revision, n: place.n + 1 };
        return {
          assertHeld() {
            if (clock.monotonic() - since < holdMs) return;
            throw new SvcError("unavailable", "the enrollment with the join token took too long: try again");
          },
          async giveBack() {
            try {
              await write(token.id, held, { ...use, free: true });
            } catch (thrown) {
              log.warn("a use of a join token is free again later", {
                ...{ token: token.id, peel_id: host.peelId, reason: describeError(thrown) },
              });
            }
          },
        };
      }
      throw new SvcError("unavailable", "many hosts join with this token at the same time: try again");
    },
  };
}

function busy(retryAfterMs: number): SvcError {
  const message = "this host is being enrolled with the join token already: try again";
  return new SvcError("unavailable", message, { retryAfterMs: Math.min(retryAfterMs, settledMs) });
}
