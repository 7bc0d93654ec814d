import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { described, integer, plainMap, timestamp, titled } from "../../base/schema.ts";
import { content, shownContent } from "../../wire/content.ts";
import { shownReleasedFiles, showReleasedFiles } from "../../wire/released-content.ts";
import { signedOf } from "../jobs/mod.ts";
import { outcomes } from "../jobs/records/mod.ts";
import { feed, operation, operatorOf, pageFields, pageOf } from "../operation/mod.ts";
import { idOfRequest } from "../requests/mod.ts";
import { resolveFor, targetOf } from "../targeting/mod.ts";
import { abort, type CommandDeps, pause, resume } from "./command.ts";
import type { RolloutController } from "./controller.ts";
import { type FollowDeps, followRollout } from "./follow.ts";
import { type Rollout, rolloutStatuses, rolloutSteps } from "./record.ts";
import { rolloutRequestSchema } from "./request.ts";
import {
  loadRollout,
  loadTargets,
  type RolloutSummary,
  type RolloutView,
  showPlan,
  showRollout,
  summaryOf,
  viewOfRollout,
  type WaveView,
} from "./show.ts";
import { planRollout, type StartDeps, storeRollout } from "./start.ts";

const released = v.exactOptional(
  described(
    shownReleasedFiles,
    "What its peels run that obey operators only, where they run other state files; its jobs name these peels",
  ),
);
const id = described(v.string(), "Id of the rollout: `rol-` and a KSUID");
const onlyId = v.strictObject({ id });
const touchesId = (input: { id: string }) => ({ rollout: input.id });

const status = v.picklist(rolloutStatuses);
const counts = described(
  v.record(v.picklist(outcomes), integer),
  `Number of peels by outcome: ${outcomes.join(", ")}`,
);

const common = {
  id: v.string(),
  function: v.string(),
  target: v.exactOptional(described(v.string(), "The target expression, if there was one")),
  status,
  targets: described(integer, "Number of target peels"),
  wave: described(integer, "Number of waves that have started"),
  failures: described(integer, "Number of peels that did not succeed so far"),
  created_at: timestamp,
  created_by: described(v.string(), "Operator"),
  approved_by: v.exactOptional(described(v.array(v.string()), "The other operators who agreed to it")),
  content: v.exactOptional(described(shownContent, "The state files that all its waves run")),
  waits_for: v.exactOptional(
    described(
      v.string(),
      "What it waits for, until when, and which command shows more; absent where it continues at once",
    ),
  ),
  finished_at: v.exactOptional(timestamp),
  reason: v.exactOptional(described(v.string(), "Why it ended")),
};
const summary: v.GenericSchema<RolloutSummary> = titled(
  "RolloutSummary",
  v.object({ ...common, waves: described(integer, "Number of waves") }),
);
const wave: v.GenericSchema<WaveView> = titled(
  "RolloutWave",
  v.object({
    peels: described(v.array(v.string()), "Encoded ids"),
    jid: v.exactOptional(described(v.string(), "Its job; absent before it has started")),
    begun_at: v.exactOptional(timestamp),
    ended_at: v.exactOptional(described(timestamp, "When its job ended")),
    counts: v.exactOptional(counts),
    gone: v.exactOptional(described(integer, "Number of its peels that had left the fleet when it started")),
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
    step: described(v.picklist(rolloutSteps), "Its position within the wave, or that at its end"),
    waves: described(v.array(wave), "The frozen list by wave, with the results"),
    max_failures: integer,
    timeout: duration,
    wave_wait: duration,
    check: v.exactOptional(
      titled("RolloutCheck", v.object({ function: v.string(), args: plainMap, timeout: duration })),
    ),
    deadline: described(timestamp, "Time after which no wave starts"),
    paused_by: v.exactOptional(described(v.string(), "Operator")),
    paused_because: v.exactOptional(described(v.string(), "Why it is paused, if no operator paused it")),
    abort_asked_by: v.exactOptional(
      described(v.string(), "Operator who aborted it; it ends when the job of its wave has ended"),
    ),
    forbidden: described(
      v.array(v.string()),
      "Jobs that were not created because their master was lost, and never will be",
    ),
    driver: v.exactOptional(described(v.string(), "The master that drives it")),
    token: described(integer, "Grows with every master that takes it over"),
    heartbeat_at: described(timestamp, "When its driver sent its last heartbeat"),
    request_id: v.exactOptional(described(v.string(), "Id of the request that started it")),
    released,
  }),
);

export const startRollout = operation({
  name: "rollouts.start",
  kind: "change",
  summary: "Run a function on a canary, then in waves",
  input: rolloutRequestSchema,
  output: titled(
    "StartedRollout",
    v.object({
      id: v.exactOptional(described(v.string(), "Absent with `dry_run`")),
      waves: v.array(wave),
      max_failures: integer,
      not_connected: v.exactOptional(
        described(
          v.array(v.string()),
          "Encoded ids of the peels of the first wave that are not connected now",
        ),
      ),
      content: v.exactOptional(described(shownContent, "The state files that all its waves run")),
      released,
    }),
  ),
  touches: (input) => ({ peels: targetOf(input) }),
  async run({ start: deps }: { start: StartDeps }, input, call) {
    const resolve = resolveFor(call, deps.resolve);
    const files = defined({
      content: call.content && content.show(call.content),
      released: call.released && showReleasedFiles(call.released),
    });
    if (input.dry_run === true) {
      const { targets, plan } = await planRollout({ ...deps, resolve }, input);
      return { ...(await showPlan(plan, targets, deps)), ...files };
    }
    const { requestId, log, agreement } = call;
    const signed = signedOf(call);
    const approvedBy = agreement?.by;
    const scoped = {
      ...deps,
      resolve,
      log,
      ...defined({ requestId, signed, approvedBy, content: call.content, released: call.released }),
    };
    const own = signed === undefined ? undefined : idOfRequest("rol", signed, deps.mac);
    const { rollout, targets } = await storeRollout(
      scoped,
      input,
      operatorOf(call),
      agreement?.idFor("rol") ?? own,
    );
    const { id, plan } = rollout;
    call.note?.({ rollout: id });
    return { id, ...(await showPlan(plan, targets, deps)), ...files };
  },
});

export const listRollouts = operation({
  name: "rollouts.list",
  kind: "read",
  summary: "List rollouts, newest first",
  input: v.strictObject({
    status: v.optional(described(status, "Only those of this status")),
    ...pageFields("rol"),
  }),
  output: v.object({ rollouts: v.array(summary), next: v.exactOptional(v.string()) }),
  async run({ controller }: { controller: Pick<RolloutController, "list"> }, { status, limit, cursor }) {
    const found = await controller.list({
      limit: limit + 1,
      ...defined({ status, after: cursor }),
    });
    const { items, ...next } = pageOf(found, limit, (rollout) => rollout.id);
    return { rollouts: items, ...next };
  },
});

export const getRollout = operation({
  name: "rollouts.show",
  kind: "read",
  summary: "Get a rollout and its peels",
  input: onlyId,
  output: v.object({ view }),
  touches: touchesId,
  async run({ follow }: { follow: Pick<FollowDeps, "rollouts"> }, input, { note }) {
    const view = await showRollout(follow.rollouts, input.id);
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
    scope: { kind: "rollouts", action: name },
    input: onlyId,
    output: v.object({ rollout: summary, view }),
    touches: touchesId,
    async run({ command: deps }: { command: CommandDeps }, input, call) {
      const rollout = await run({ ...deps, log: call.log }, input.id, operatorOf(call));
      call.note?.({ rollout: rollout.id });
      const targets = await loadTargets(deps.rollouts, rollout.id);
      return { rollout: summaryOf(rollout), view: viewOfRollout(rollout, targets) };
    },
  });
}

export const pauseRollout = command(
  "pause",
  "Pause a rollout: no further wave starts",
  "The current wave runs to its end. A paused rollout stays paused.",
  pause,
);
export const resumeRollout = command(
  "resume",
  "Resume a paused rollout",
  "A release that paused it does not pause it again. A rollout that is not paused stays unchanged.",
  resume,
);
export const abortRollout = command(
  "abort",
  "End a rollout",
  "No further wave starts, and the job of the current one is cancelled. The status changes when that job has ended.",
  abort,
);

export const streamRollout = operation({
  name: "rollouts.follow",
  kind: "read",
  summary: "Follow a rollout",
  description:
    "Server-sent events. `rollout`: its state, at the start and after every change, with the fields of `Rollout` except the peels of its waves; `end`: the same after its end, which also ends the stream. A comment comes every 30 seconds.",
  scope: { kind: "rollouts", action: "show" },
  input: onlyId,
  output: feed,
  touches: touchesId,
  async run({ follow: deps }: { follow: FollowDeps }, input, { note, log }) {
    // Read the rollout before the stream opens: an unknown rollout is an error, not a stream.
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
