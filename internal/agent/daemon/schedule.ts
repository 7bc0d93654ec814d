import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { scheduleSubject } from "../../bus/mod.ts";
import { encodeScheduledRun } from "../../fleet/jobs/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import { fittingReturn } from "../execution/mod.ts";
import { createUptime, startScheduler } from "../schedule/mod.ts";
import type { Local } from "./local.ts";

/** The maximum timeout of a job, so that a run that hangs does not block the queue forever. */
const longestRunMs = 24 * 60 * 60 * 1000;

/**
 * Runs the schedule of a peel in its local phase. Its calls are queued with the jobs, and results for the
 * masters wait in the outbox for a bus.
 */
export function startSchedule(options: {
  entries: PeelConfig["schedule"];
  local: Pick<Local, "executor" | "outbox" | "counts">;
  /** Encoded peel id. */
  peelId: string;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  random: Random;
  log: Log;
}): { stop(): void } {
  const { local, peelId, clock } = options;
  return startScheduler({
    ...options,
    run: (task) => local.executor.run({ ...task, deadline: clock.now() + longestRunMs }),
    publish(jid, run) {
      const payload = encodeScheduledRun({ ...run, result: fittingReturn(run.result) });
      local.outbox.put({ subject: scheduleSubject(jid, peelId), payload, durable: true });
    },
    counts: local.counts,
    uptime: createUptime(clock),
    spread: options.jitter,
  });
}
