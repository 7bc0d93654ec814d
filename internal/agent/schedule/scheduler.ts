import type { Clock, Timer } from "../../base/clock.ts";
import { parseCron } from "../../base/cron.ts";
import { describeError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { ScheduleEntry } from "../../program/config/mod.ts";
import type { Call } from "../../wire/call.ts";
import type { JobReturn } from "../../wire/return.ts";
import type { ScheduledRun } from "../../wire/scheduled-run.ts";
import { callOf } from "./check.ts";
import { evaluate, firstPlan, type Moment, type Plan, type Spread, type Timing, waitFor } from "./next.ts";

/** Maximum wait between checks, so that a clock jump or a suspended host is noticed. */
const maxWaitMs = 60_000;

export interface SchedulerOptions {
  entries: readonly ScheduleEntry[];
  /** Runs a call under its own id and returns its result. */
  run(task: { id: string; call: Call }): Promise<JobReturn>;
  /** Receives the results of entries with `return_job`; `jid` is the id of the run. */
  publish(jid: string, run: ScheduledRun): void;
  counts: { scheduleSkipped: number };
  clock: Clock;
  /** Milliseconds on a clock that never jumps and includes the time the host sleeps. */
  uptime: () => number;
  /** Chooses the random delays within the splay. */
  spread: Spread;
  random: Random;
  log: Log;
}

/**
 * Runs the enabled entries of a schedule at their times, until it is stopped. Active runs then continue to
 * their end.
 */
export function startScheduler(options: SchedulerOptions): { stop(): void } {
  const { clock, spread } = options;
  const now = (): Moment => ({ wall: clock.now(), uptime: options.uptime() });
  const lines = options.entries
    .filter(({ enabled }) => enabled)
    .map((entry) => {
      const timing = timingOf(entry);
      return { timing, plan: firstPlan(timing, now(), spread), start: starterOf(entry, options) };
    });
  let timer: Timer | undefined;
  const tick = () => {
    for (const line of lines) {
      const evaluated = evaluate(line.timing, line.plan, now(), spread);
      line.plan = evaluated.plan;
      if (evaluated.run) line.start();
    }
    arm();
  };
  const arm = () => {
    if (lines.length === 0) return;
    timer = clock.after(soonest(lines, now()), tick);
  };
  tick();
  return { stop: () => timer?.cancel() };
}

function soonest(lines: readonly { plan: Plan }[], now: Moment): number {
  return Math.ceil(Math.min(maxWaitMs, ...lines.map(({ plan }) => waitFor(plan, now))));
}

function timingOf({ interval, cron, splay, run_on_start }: ScheduleEntry): Timing {
  // The configuration ensures exactly one of interval and cron.
  const repeat = interval === undefined ? { cron: parseCron(cron ?? "") } : { every: interval };
  return { repeat, splay, onStart: run_on_start };
}

/** Starts a run of an entry, unless `maxrunning` runs are still active. */
function starterOf(entry: ScheduleEntry, options: SchedulerOptions): () => void {
  const { clock, log } = options;
  const { name } = entry;
  const call = callOf(entry);
  let running = 0;
  let skipped = 0;
  const runOnce = async () => {
    const jid = newId("job", clock.now(), options.random);
    const result = await options.run({ id: jid, call });
    const { success, outcome, error, duration_ms } = result;
    const fields = { jid, schedule: name, function: call.function, success, outcome, duration_ms };
    if (success) log.info("scheduled job done", fields);
    else log.warn("scheduled job failed", { ...fields, error });
    if (entry.return_job) options.publish(jid, { schedule: name, call, result });
  };
  return () => {
    if (running >= entry.maxrunning) {
      skipped++;
      options.counts.scheduleSkipped++;
      log.warn("scheduled job skipped: the previous run is still active", {
        schedule: name,
        running,
        skipped,
      });
      return;
    }
    running++;
    runOnce()
      .catch((thrown) => log.error("scheduled job lost", { schedule: name, error: describeError(thrown) }))
      .finally(() => {
        running--;
      });
  };
}
