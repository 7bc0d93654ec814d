import { outcomes } from "../../../fleet/jobs/outcome.ts";
import { rolloutStatuses, rolloutSteps } from "../../../fleet/rollout/record.ts";
import { rolloutRequestSchema } from "../../../fleet/rollout/request.ts";
import type { RolloutSummary, RolloutView, WaveView } from "../../../fleet/rollout/show.ts";
import {
  anything,
  integer,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  optional,
  schemaOf,
  text,
  time,
} from "./json-schema.ts";
import { nextPage, pageParameters } from "./page.ts";
import type { RouteDoc } from "./route-doc.ts";

const id = { id: { description: "Id of the rollout: `rol-` and a KSUID" } };
const noSuchRollout = { description: "There is no rollout with this id" };

const request = schemaOf("RolloutRequest", rolloutRequestSchema, {
  target: { description: "Which peels, as an expression: `web*`, `G@os:linux and not E@^db`; or `targets`" },
  targets: { description: "Which peels, by id; or `target`" },
  function: { description: "`module.function`, such as `state.apply`" },
  args: { description: "Arguments of the function by name" },
  timeout: { description: "How long a peel may take, at most 24h", default: "1m" },
  canary: {
    description: "The first wave: a number of peels, or a part of all, `5%`; 0 for none",
    default: 1,
  },
  waves: {
    description: "The size of every wave after it, or a list of sizes of which the last is taken again",
    default: "25%",
  },
  wave_wait: { description: "How long a wave must have ended before it is checked and the next begins" },
  max_failures: {
    description: "How many peels may fail, or which part of all, before no wave begins any more",
    default: 0,
  },
  check: { description: "A function that each peel of a wave that ended well must end well too" },
  deadline: { description: "When no wave begins any more, from now; at most 144h", default: "24h" },
  metadata: { description: "Kept with the rollout and its jobs" },
  dry_run: { description: "Show the waves and start nothing" },
});

const status = oneOf(rolloutStatuses);
const counts = mapOf(integer(), `How many peels ended how, by outcome: ${outcomes.join(", ")}`);

const common = {
  id: text(),
  function: text(),
  target: optional(text("The expression, when there was one")),
  status,
  targets: integer("How many peels it is for"),
  wave: integer("How many waves have begun"),
  failures: integer("How many peels did not end well so far"),
  created_at: time(),
  created_by: text("Operator"),
  finished_at: optional(time()),
  reason: optional(text("Why it ended")),
};
const summary = objectOf<RolloutSummary>("RolloutSummary", {
  ...common,
  waves: integer("How many waves there are"),
});
const wave = objectOf<WaveView>("RolloutWave", {
  peels: listOf(text(), "Encoded ids"),
  jid: optional(text("Its job; absent while it has not begun")),
  begun_at: optional(time()),
  ended_at: optional(time("When its job had ended")),
  counts: optional(counts),
  gone: optional(integer("How many of its peels had left the fleet when it began")),
  check_jid: optional(text()),
  check_counts: optional(counts),
});
const view = objectOf<RolloutView>("Rollout", {
  ...common,
  args: mapOf(anything()),
  metadata: mapOf(anything()),
  step: oneOf(rolloutSteps, "Where in its wave it is, or was when it ended"),
  waves: listOf(wave, "The frozen list, wave by wave, and what came of it"),
  max_failures: integer(),
  timeout: text("A duration"),
  wave_wait: text("A duration"),
  check: optional(
    objectOf<NonNullable<RolloutView["check"]>>("RolloutCheck", {
      function: text(),
      args: mapOf(anything()),
      timeout: text("A duration"),
    }),
  ),
  deadline: time("When no wave begins any more"),
  paused_by: optional(text("Operator")),
  abort_asked_by: optional(text("Operator; it ends as soon as the job of its wave has")),
  forbidden: listOf(text(), "Jobs that were to be made when their master was lost, and never will be"),
  driver: optional(text("The master that drives it")),
  token: integer("Grows with every master that takes it"),
  heartbeat_at: time("When its driver last said that it is there"),
  request_id: optional(text("The request it was started by")),
});
const started = objectOf<{ id?: string; waves: WaveView[]; max_failures: number }>("StartedRollout", {
  id: optional(text("Absent with `dry_run`")),
  waves: listOf(wave),
  max_failures: integer(),
});

const command = (name: string, title: string, description: string): RouteDoc => ({
  tag: "Rollouts",
  id: name,
  summary: title,
  description,
  parameters: id,
  responses: {
    200: { description: "The rollout as it is now", schema: view },
    404: noSuchRollout,
    409: { description: "The rollout has ended" },
  },
});

export const rolloutDocs = {
  create: {
    tag: "Rollouts",
    id: "startRollout",
    summary: "Run a function on a canary, then in waves",
    request,
    responses: {
      200: { description: "With `dry_run`: what it would be", schema: started },
      202: { description: "The rollout is stored, and its list frozen", schema: started },
      404: { description: "No peel matches" },
      409: { description: "Too many rollouts run" },
    },
  },
  list: {
    tag: "Rollouts",
    id: "listRollouts",
    summary: "List rollouts, newest first",
    parameters: { status: { description: "Only those of this status", schema: status }, ...pageParameters },
    responses: {
      200: { description: "One page of them", schema: listOf(summary), headers: nextPage },
      400: { description: "A parameter is malformed" },
    },
  },
  show: {
    tag: "Rollouts",
    id: "getRollout",
    summary: "See a rollout and whom it is for",
    parameters: id,
    responses: { 200: { description: "The rollout", schema: view }, 404: noSuchRollout },
  },
  pause: command(
    "pauseRollout",
    "Let no other wave begin",
    "The wave that has begun comes to its end. A rollout that is paused stays so.",
  ),
  resume: command(
    "resumeRollout",
    "Go on with a paused rollout",
    "One that is not paused goes on as it does.",
  ),
  abort: command(
    "abortRollout",
    "End a rollout",
    "No other wave begins, and the job of the one that has begun is cancelled. Its status changes when that has ended.",
  ),
  stream: {
    tag: "Rollouts",
    id: "streamRollout",
    summary: "Follow a rollout",
    description:
      "Server-sent events. `rollout`: how it stands, at the start and with every change, with the fields of `Rollout` but for the peels of its waves; `end`: the same once it has ended, and the stream with it. A comment comes every 30 seconds.",
    parameters: id,
    responses: { 200: { description: "The stream", type: "text/event-stream" }, 404: noSuchRollout },
  },
} as const satisfies Record<string, RouteDoc>;
