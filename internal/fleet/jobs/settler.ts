import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Tally } from "./tally.ts";

/** Maximum time that a master leaves the end of a job to the master that dispatched it. */
const leaveToOthersMs = 4_000;

/**
 * Decides when this master writes how a job ended. All masters do this, and usually the first write is
 * enough.
 */
export interface Settler {
  /**
   * Records that this master dispatched the job, so it writes the end at once; the others do it later if
   * needed.
   *
   * @param complete what is known about the targets, when all of them have ended
   */
  own(jid: string, complete?: Tally): void;
  owns(jid: string): boolean;
  /** Every target has ended. */
  ended(jid: string, complete: Tally): void;
  /** The end may be due now, or after `delayMs`; storage decides. */
  due(jid: string, delayMs?: number): void;
  /** A target returned after the end of the job, which may change how it ended. */
  returnedLate(jid: string): void;
  /** Nothing more will be written about the job. */
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
    // When every target has ended, there is no reason to wait.
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
      // It was left to another master so far.
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
