import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { isId } from "../../base/id.ts";
import { outcomes } from "../jobs/mod.ts";
import {
  described,
  feed,
  integer,
  operation,
  operatorOf,
  pageFields,
  pageOf,
  plainMap,
  timestamp,
  titled,
} from "../operation/mod.ts";
import { targetOf } from "../targeting/mod.ts";
import { abortRollout, type CommandDeps, pauseRollout, resumeRollout } from "./command.ts";
import type { RolloutController } from "./controller.ts";
import { type FollowDeps, followRollout } from "./follow.ts";
import { type Rollout, rolloutStatuses, rolloutSteps } from "./record.ts";
import { rolloutRequestSchema } from "./request.ts";
import {
  loadRollout,
  loadTargets,
  plannedWaves,
  type RolloutSummary,
  type RolloutView,
  showRollout,
  summaryOf,
  viewOfRollout,
  type WaveView,
} from "./show.ts";
import { planRollout, type StartDeps, startRollout } from "./start.ts";

const id = described(v.string(), "Id of the rollout: `rol-` and a KSUID");
const onlyId = v.strictObject({ id });
const touchesId = (input: { id: string }) => ({ rollout: input.id });

const status = v.picklist(rolloutStatuses);
const counts = described(
  v.record(v.picklist(outcomes), integer),
  `How many peels ended how, by outcome: ${outcomes.join(", ")}`,
);

const common = {
  id: v.string(),
  function: v.string(),
  target: v.exactOptional(described(v.string(), "The expression, when there was one")),
  status,
  targets: described(integer, "How many peels it is for"),
  wave: described(integer, "How many waves have begun"),
  failures: described(integer, "How many peels did not end well so far"),
  created_at: timestamp,
  created_by: described(v.string(), "Operator"),
  finished_at: v.exactOptional(timestamp),
  reason: v.exactOptional(described(v.string(), "Why it ended")),
};
const summary: v.GenericSchema<RolloutSummary> = titled(
  "RolloutSummary",
  v.object({ ...common, waves: described(integer, "How many waves there are") }),
);
const wave: v.GenericSchema<WaveView> = titled(
  "RolloutWave",
  v.object({
    peels: described(v.array(v.string()), "Encoded ids"),
    jid: v.exactOptional(described(v.string(), "Its job; absent while it has not begun")),
    begun_at: v.exactOptional(timestamp),
    ended_at: v.exactOptional(described(timestamp, "When its job had ended")),
    counts: v.exactOptional(counts),
    gone: v.exactOptional(described(integer, "How many of its peels had left the fleet when it began")),
    check_jid: v.exactOptional(v.string()),
    check_counts: v.exactOptional(counts),
  }),
);
const duration = described(v.string(), "A duration");
const view: v.GenericSchema<RolloutView> = titled(
  "Rollout",
  v.object({
    ...common,
    args: plainMap,
    metadata: plainMap,
    step: described(v.picklist(rolloutSteps), "Where in its wave it is, or was when it ended"),
    waves: described(v.array(wave), "The frozen list, wave by wave, and what came of it"),
    max_failures: integer,
    timeout: duration,
    wave_wait: duration,
    check: v.exactOptional(
      titled("RolloutCheck", v.object({ function: v.string(), args: plainMap, timeout: duration })),
    ),
    deadline: described(timestamp, "When no wave begins any more"),
    paused_by: v.exactOptional(described(v.string(), "Operator")),
    abort_asked_by: v.exactOptional(
      described(v.string(), "Operator; it ends as soon as the job of its wave has"),
    ),
    forbidden: described(
      v.array(v.string()),
      "Jobs that were to be made when their master was lost, and never will be",
    ),
    driver: v.exactOptional(described(v.string(), "The master that drives it")),
    token: described(integer, "Grows with every master that takes it"),
    heartbeat_at: described(timestamp, "When its driver last said that it is there"),
    request_id: v.exactOptional(described(v.string(), "The request it was started by")),
  }),
);

export const start = operation({
  name: "rollouts.start",
  kind: "change",
  summary: "Run a function on a canary, then in waves",
  admits: ["operator"],
  input: rolloutRequestSchema,
  output: titled(
    "StartedRollout",
    v.object({
      id: v.exactOptional(described(v.string(), "Absent with `dry_run`")),
      waves: v.array(wave),
      max_failures: integer,
    }),
  ),
  touches: (input) => ({ peels: targetOf(input) }),
  async run(deps: StartDeps, input, call) {
    if (input.dry_run === true) {
      const { targets, plan } = await planRollout(deps, input);
      return { waves: plannedWaves(plan, targets), max_failures: plan.maxFailures };
    }
    const { requestId, log } = call;
    const scoped = { ...deps, log, ...defined({ requestId }) };
    const { rollout, targets } = await startRollout(scoped, input, operatorOf(call));
    const { id, plan } = rollout;
    call.note?.({ rollout: id });
    return { id, waves: plannedWaves(plan, targets), max_failures: plan.maxFailures };
  },
});

export const list = operation({
  name: "rollouts.list",
  kind: "read",
  summary: "List rollouts, newest first",
  admits: ["operator"],
  input: v.strictObject({
    status: v.optional(described(status, "Only those of this status")),
    ...pageFields((text) => isId("rol", text)),
  }),
  output: v.object({ rollouts: v.array(summary), next: v.exactOptional(v.string()) }),
  touches: () => ({ fleet: true }),
  async run({ controller }: { controller: Pick<RolloutController, "list"> }, { status, limit, cursor }) {
    const found = await controller.list({
      limit: limit + 1,
      ...defined({ status, after: cursor }),
    });
    const { items, ...next } = pageOf(found, limit, (rollout) => rollout.id);
    return { rollouts: items, ...next };
  },
});

export const show = operation({
  name: "rollouts.show",
  kind: "read",
  summary: "See a rollout and whom it is for",
  admits: ["operator"],
  input: onlyId,
  output: v.object({ view }),
  touches: touchesId,
  async run({ rollouts }: Pick<FollowDeps, "rollouts">, input, { note }) {
    const view = await showRollout(rollouts, input.id);
    note?.({ rollout: view.id });
    return { view };
  },
});

function command(
  name: "pause" | "resume" | "abort",
  summaryText: string,
  description: string,
  run: (deps: CommandDeps, id: string, operator: string) => Promise<Rollout>,
) {
  return operation({
    name: `rollouts.${name}`,
    kind: "change",
    summary: summaryText,
    description,
    admits: ["operator"],
    input: onlyId,
    output: v.object({ rollout: summary, view }),
    touches: touchesId,
    async run(deps: CommandDeps, input, call) {
      const rollout = await run({ ...deps, log: call.log }, input.id, operatorOf(call));
      call.note?.({ rollout: rollout.id });
      const targets = await loadTargets(deps.rollouts, rollout.id);
      return { rollout: summaryOf(rollout), view: viewOfRollout(rollout, targets) };
    },
  });
}

export const pause = command(
  "pause",
  "Let no other wave begin",
  "The wave that has begun comes to its end. A rollout that is paused stays so.",
  pauseRollout,
);
export const resume = command(
  "resume",
  "Go on with a paused rollout",
  "One that is not paused goes on as it does.",
  resumeRollout,
);
export const abort = command(
  "abort",
  "End a rollout",
  "No other wave begins, and the job of the one that has begun is cancelled. Its status changes when that has ended.",
  abortRollout,
);

export const follow = operation({
  name: "rollouts.follow",
  kind: "read",
  summary: "Follow a rollout",
  description:
    "Server-sent events. `rollout`: how it stands, at the start and with every change, with the fields of `Rollout` but for the peels of its waves; `end`: the same once it has ended, and the stream with it. A comment comes every 30 seconds.",
  admits: ["operator"],
  input: onlyId,
  output: feed,
  touches: touchesId,
  async run(deps: FollowDeps, input, { note, log }) {
    // Read once before the stream opens: an unknown rollout is an error, not a stream.
    const { id } = await loadRollout(deps.rollouts, input.id);
    note?.({ rollout: id });
    return {
      start(sink) {
        const stopping = new AbortController();
        const send = (event: string) => (rollout: Rollout) => sink.send(event, viewOfRollout(rollout, []));
        followRollout(deps, id, send("rollout"), stopping.signal)
          .then(send("end"), (thrown) => {
            if (stopping.signal.aborted) return;
            log.warn("a rollout stream broke off", { rollout: id, error: thrown });
          })
          .finally(() => sink.close());
        return () => stopping.abort(new Error("the client left"));
      },
    };
  },
});

/** What the operations on rollouts need. */
export interface RolloutOperationDeps {
  start: StartDeps;
  command: CommandDeps;
  follow: FollowDeps;
  controller: Pick<RolloutController, "list">;
}
