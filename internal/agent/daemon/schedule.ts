import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { type Tracer, untraced } from "../../base/trace.ts";
import { scheduleSubject } from "../../bus/subjects/subjects.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import { encodeScheduledRun } from "../../wire/scheduled-run.ts";
import type { Insistence } from "../consent/mod.ts";
import { failedReturn, fittingReturn } from "../execution/mod.ts";
import { createUptime, startScheduler } from "../schedule/mod.ts";
import { endTrace } from "./end-trace.ts";
import type { Local } from "./local.ts";

const maxTraces = 256;
/** The maximum timeout of a job, so that a run that hangs does not block the queue forever. */
const maxRunMs = 24 * 60 * 60 * 1000;

/**
 * Runs the schedule of a peel in its local phase. Its calls are queued with the jobs, and results for the
 * masters wait in the outbox for a bus.
 */
export function startSchedule(options: {
  entries: PeelConfig["schedule"];
  local: Pick<Local, "executor" | "outbox" | "counts">;
  /** Encoded peel id. */
  peelId: string;
  /** Says which state files run; absent on a peel that obeys masters. */
  insistence?: Pick<Insistence, "own">;
  /** Begins a trace for each run. */
  tracer?: Tracer;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  random: Random;
  log: Log;
}): { stop(): void } {
  const { local, peelId, insistence, tracer = untraced, clock } = options;
  /** The spans of the last runs, which end before their results are published. */
  const traces = createBoundedMap<string>(2 * maxTraces);
  return startScheduler({
    ...options,
    async run({ id, call: planned }) {
      const call = insistence?.own(planned) ?? planned;
      if ("refused" in call) return failedReturn(call.refused, clock.now(), 0);
      const span = tracer.begin(`run ${call.function}`, {
        attributes: { "svc.jid": id, "svc.peel": peelId, "svc.function": call.function },
      });
      if (span.traceparent !== undefined) traces.set(id, span.traceparent);
      const result = await local.executor.run({
        ...{ id, call },
        origin: { trigger: "schedule", jid: id },
        deadline: clock.now() + maxRunMs,
      });
      endTrace(span, result);
      return result;
    },
    publish(jid, run) {
      const traceparent = traces.get(jid);
      const result = fittingReturn(run.result);
      const payload = encodeScheduledRun({ ...run, result, ...defined({ traceparent }) });
      local.outbox.put({ subject: scheduleSubject(jid, peelId), payload, durable: true });
    },
    counts: local.counts,
    uptime: createUptime(clock),
    spread: options.jitter,
  });
}
