import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Tally } from "./tally.ts";

/** A master that did not dispatch a job leaves its end to the one that did, for so long at most. */
const leaveToOthersMs = 4_000;

/** Decides when this master writes how a job ended. All masters do, and mostly the first one is enough. */
export interface Settler {
  /**
   * Says that this master dispatched the job, and so writes its end at once; the others take over after a
   * while.
   *
   * @param complete what is known of the targets, when every one of them has ended by now
   */
  own(jid: string, complete?: Tally): void;
  owns(jid: string): boolean;
  /** Every target has ended. */
  ended(jid: string, complete: Tally): void;
  /** The end may be due, or is after `delayMs`: what is stored tells. */
  due(jid: string, delayMs?: number): void;
  /** A target returned after the end of the job, which may change how it ended. */
  returnedLate(jid: string): void;
  /** Nothing is to be written about the job any more. */
  forget(jid: string): void;
  stop(): void;
}

export function createSettler(deps: {
  /** Writes the end of a job, if it has ended. */
  settle(jid: string, complete: Tally | undefined): Promise<unknown>;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}): Settler {
  const { clock, jitter, log } = deps;
  const timers = new Map<string, Timer>();
  const owned = new Set<string>();
  let stopped = false;

  const cancel = (jid: string) => {
    timers.get(jid)?.cancel();
    timers.delete(jid);
  };
  const settle = (jid: string, complete: Tally | undefined) => {
    timers.delete(jid);
    deps.settle(jid, complete).catch((thrown) => {
      log.warn("the end of a job is not written yet", { jid, reason: describeError(thrown) });
      schedule(jid, leaveToOthersMs);
    });
  };
  const schedule = (jid: string, inMs: number, complete?: Tally) => {
    // When every target has ended there is nothing left to wait for.
    if (stopped || (timers.has(jid) && complete === undefined)) return;
    cancel(jid);
    timers.set(
      jid,
      clock.after(inMs, () => settle(jid, complete)),
    );
  };
  const settleDelay = (jid: string) => (owned.has(jid) ? 0 : leaveToOthersMs * (0.5 + jitter() / 2));
  return {
    own(jid, complete) {
      owned.add(jid);
      // Left to another master so far.
      if (complete !== undefined) schedule(jid, 0, complete);
    },
    owns: (jid) => owned.has(jid),
    ended: (jid, complete) => schedule(jid, settleDelay(jid), complete),
    due: (jid, delayMs = 0) => schedule(jid, settleDelay(jid) + delayMs),
    returnedLate: (jid) => schedule(jid, settleDelay(jid) / 2),
    forget(jid) {
      cancel(jid);
      owned.delete(jid);
    },
    stop() {
      stopped = true;
      for (const jid of [...timers.keys()]) cancel(jid);
    },
  };
}
