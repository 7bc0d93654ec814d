import type { Clock, Timer } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { RunningJob } from "./running-jobs.ts";
import type { SendCommand } from "./send.ts";
import { isSilent } from "./tally.ts";

/**
 * A live peel that has not accepted a job gets it again, first after this time, then at growing intervals.
 */
const firstPauseMs = 2_000;
const maxPauseMs = 60_000;

export interface ResenderDeps {
  alive(peel: string): boolean;
  send: SendCommand;
  /** Whether this master dispatched the job. The others wait longer, so that it is usually sent once. */
  owns(jid: string): boolean;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/**
 * Sends a job again to live targets that have not accepted it, until all have ended or the deadline passes.
 */
export function resendJob(
  entry: Pick<RunningJob, "job" | "tally">,
  { alive, send, owns, clock, jitter, log }: ResenderDeps,
): Timer {
  const wait = (pauseMs: number): Timer =>
    clock.after(pauseMs * (owns(entry.job.jid) ? 1 : 1.5 + jitter()), () => {
      const { job, tally } = entry;
      if (job.cancelledAt !== undefined || clock.now() >= job.deadline || tally.open === 0) return;
      const silent = job.targets.filter((peel) => isSilent(tally.known(peel)) && alive(peel));
      if (silent.length > 0) {
        log.info("job sent again to peels that have not taken it", { jid: job.jid, peels: silent.length });
        send("dispatch", job, silent);
      }
      timer = wait(Math.min(pauseMs * 2, maxPauseMs));
    });
  let timer = wait(firstPauseMs);
  return { cancel: () => timer.cancel() };
}
