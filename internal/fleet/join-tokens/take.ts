import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { type Choice, chooseUse, holdMs, type Place, placeOf, settledMs } from "./choose.ts";
import type { JoinTokenRecord } from "./record.ts";
import { encodeUse, type Use, useKey } from "./use.ts";
import type { JoinTokenView } from "./view.ts";

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

interface Taking extends TakeDeps {
  /** Slots that this master is writing, by their key. */
  readonly writing: Set<string>;
  /** Writes of uses whose enrollment was found, by token. */
  readonly settled: Map<string, Set<string>>;
}

/**
 * Takes uses of tokens, one write for each. Of two masters that want the same use, one gets it.
 *
 * A master that dies between the use and the record leaves a use without an enrollment. The same host gets it again
 * when it sends its request again, and after `settledMs` any other host does. Until then the same host is asked to
 * come again: the first master may still be at work.
 */
export function createTakings(deps: TakeDeps) {
  const { view, clock } = deps;
  const taking: Taking = { ...deps, writing: new Set(), settled: new Map() };
  return {
    /**
     * Takes one use for a host.
     *
     * @returns `undefined` when all are taken
     * @throws SvcError `unavailable` when a use of this host may still be at work, or with the bus
     */
    async take(token: JoinTokenRecord, host: Joining): Promise<Taken | undefined> {
      for (let lost = 0; lost < maxLost; lost++) {
        const place = await pick(taking, token, host.publicKey);
        if (place === undefined) return undefined;
        const since = clock.monotonic();
        const use = { free: false, ...host, at: clock.now() };
        const revision = await write(taking, token.id, place, use);
        if (revision !== undefined) {
          return taken(taking, token.id, { slot: place.slot, revision, n: place.n + 1 }, use, since);
        }
        await view.caughtUp();
      }
      throw new SvcError("unavailable", "many hosts join with this token at the same time: try again");
    },
  };
}

/** @param since when it was taken, on the monotonic clock */
function taken(taking: Taking, token: string, held: Place, use: Omit<Use, "n">, since: number): Taken {
  return {
    assertHeld() {
      if (taking.clock.monotonic() - since < holdMs) return;
      throw new SvcError("unavailable", "the enrollment with the join token took too long: try again");
    },
    async giveBack() {
      try {
        await write(taking, token, held, { ...use, free: true });
      } catch (thrown) {
        taking.log.warn("a use of a join token is free again later", {
          ...{ token, peel_id: use.peelId, reason: describeError(thrown) },
        });
      }
    },
  };
}

/** The place of the use that this host gets; `undefined` when all are taken. */
async function pick(taking: Taking, token: JoinTokenRecord, publicKey: string): Promise<Place | undefined> {
  const { own, free, doubtful } = choose(taking, token, publicKey);
  const result = own === undefined ? "over" : await taking.resultOf(own.enrollment);
  // A host that was admitted does not come here, unless its master died between the record and its index: masters
  // complete that within a minute.
  if (result === "live") throw busy(repairMs);
  if (own !== undefined && result === "none") {
    const leftMs = own.at + settledMs - taking.clock.now();
    if (leftMs <= 0) return placeOf(own);
    throw busy(leftMs);
  }
  if (free !== undefined) return free;
  return firstOfNothing(taking, token.id, doubtful);
}

function choose(
  { view, clock, jitter, writing, settled }: Taking,
  token: JoinTokenRecord,
  publicKey: string,
): Choice {
  const { id } = token;
  return chooseUse(token, view.usesOf(id), {
    ...{ own: view.slotOf(id, publicKey), now: clock.now(), start: jitter() },
    busy: (slot) => writing.has(useKey(id, slot)),
    isSettled: (slot, n) => settled.get(id)?.has(`${slot}/${n}`) === true,
  });
}

/** The first of these uses that no enrollment came of. */
async function firstOfNothing(
  taking: Taking,
  token: string,
  uses: Choice["doubtful"],
): Promise<Place | undefined> {
  for (let from = 0; from < uses.length; from += readAtOnce) {
    const some = uses.slice(from, from + readAtOnce);
    const found = await Promise.all(some.map(({ enrollment }) => taking.resultOf(enrollment)));
    for (const [at, use] of some.entries()) if (found[at] !== "none") settle(taking, token, use);
    const use = some[found.indexOf("none")];
    if (use !== undefined) return placeOf(use);
  }
  return undefined;
}

/** Notes that the enrollment of a use was found. */
function settle({ settled, view }: Taking, token: string, { slot, n }: { slot: number; n: number }): void {
  const known = settled.get(token) ?? new Set<string>();
  if (known.size === 0) for (const id of settled.keys()) if (view.get(id) === undefined) settled.delete(id);
  settled.set(token, known.add(`${slot}/${n}`));
}

async function write(
  { bucket, view, mac, writing }: Taking,
  token: string,
  { slot, revision, n }: Place,
  use: Omit<Use, "n">,
): Promise<number | undefined> {
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
}

function busy(retryAfterMs: number): SvcError {
  const message = "this host is being enrolled with the join token already: try again";
  return new SvcError("unavailable", message, { retryAfterMs: Math.min(retryAfterMs, settledMs) });
}
