import type { JobSummary } from "../../../fleet/jobs/board.ts";
import { jobRequestSchema } from "../../../fleet/jobs/dispatch.ts";
import { endings, jobStatuses, outcomes } from "../../../fleet/jobs/outcome.ts";
import type { JobView, SeenReturn } from "../../../fleet/jobs/show.ts";
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

const jid = { jid: { description: "Id of the job: `job-` and a KSUID" } };
const noSuchJob = { description: "There is no job with this id" };

const request = schemaOf("JobRequest", jobRequestSchema, {
  target: { description: "Which peels, as an expression: `web*`, `G@os:linux and not E@^db`; or `targets`" },
  targets: { description: "Which peels, by id; or `target`" },
  function: { description: "`module.function`, such as `test.ping`" },
  args: { description: "Arguments of the function by name" },
  timeout: { description: "How long a peel may take, `90s` or `1h30m`, at most 24h", default: "1m" },
  metadata: { description: "Kept with the job" },
});

const counts = mapOf(integer(), `How many targets ended how, by outcome: ${outcomes.join(", ")}`);
const status = oneOf(jobStatuses);

const seenReturn = objectOf<SeenReturn>("JobReturn", {
  success: { type: "boolean" },
  retcode: integer("0 when all went well"),
  return: optional(anything("What the function answered")),
  error: optional(text("Why it could not be run, or failed")),
  started_at: time(),
  duration_ms: { type: "number" },
  outcome: optional(oneOf(endings, "How it ended when the function was not simply run to its end")),
  late: optional({ type: "boolean", const: true, description: "It came after the deadline" }),
  truncated: optional({
    type: "boolean",
    const: true,
    description: "`return` is left out, as the answer would be too large; ask with `peel`",
  }),
});

const common = {
  jid: text(),
  function: text(),
  target: optional(text("The expression, when there was one")),
  schedule: optional(text("The entry of the peel's own schedule that ran it")),
  status,
  counts,
  created_at: time(),
  created_by: text("Operator"),
  finished_at: optional(time()),
};
const summary = objectOf<JobSummary>("JobSummary", {
  ...common,
  targets: integer("How many peels it is for"),
});
const view = objectOf<JobView>("Job", {
  ...common,
  args: mapOf(anything()),
  targets: listOf(text(), "Encoded ids of the peels it is for"),
  metadata: mapOf(anything()),
  timeout: text("A duration"),
  deadline: time("Until then a peel may begin it and be at it"),
  request_id: optional(text("The request it was dispatched by, as the logs of masters and peels name it")),
  cancelled_at: optional(time()),
  cancelled_by: optional(text()),
  cancel_request_id: optional(text("The request it was cancelled by")),
  outcomes: mapOf(oneOf(outcomes), "By encoded peel id"),
  returns: mapOf(seenReturn, "By encoded peel id"),
});

export const jobDocs = {
  create: {
    tag: "Jobs",
    id: "createJob",
    summary: "Run a function on peels",
    request,
    responses: {
      202: {
        description: "The job is stored and sent",
        schema: objectOf<{ jid: string; targets: string[]; status: "running" }>("CreatedJob", {
          jid: text(),
          targets: listOf(text(), "Encoded ids of the peels it is for"),
          status: oneOf(["running"]),
        }),
      },
      404: { description: "No peel matches" },
    },
  },
  list: {
    tag: "Jobs",
    id: "listJobs",
    summary: "List jobs, newest first",
    parameters: { status: { description: "Only those of this status", schema: status }, ...pageParameters },
    responses: {
      200: { description: "One page of them", schema: listOf(summary), headers: nextPage },
      400: { description: "A parameter is malformed" },
    },
  },
  show: {
    tag: "Jobs",
    id: "getJob",
    summary: "See a job and what its peels returned",
    parameters: { ...jid, peel: { description: "Show the return of this peel alone, whole" } },
    responses: { 200: { description: "The job", schema: view }, 404: noSuchJob },
  },
  cancel: {
    tag: "Jobs",
    id: "cancelJob",
    summary: "Stop a job on every peel that has not ended it",
    parameters: jid,
    responses: {
      200: { description: "The job as it is now", schema: view },
      404: noSuchJob,
      409: { description: "The job has ended" },
    },
  },
  stream: {
    tag: "Jobs",
    id: "streamJob",
    summary: "Follow a job",
    description:
      "Server-sent events, what was said before included. `ack`: a peel took the job, `{jid, peel_id}`; `progress`: how far it is, `{jid, peel_id, done, total, failed, current}`; `return`: what it returned, with the fields of `JobReturn`; `end`: the job has ended, `{jid, status, counts, outcomes}`, and the stream with it. A comment comes every 30 seconds.",
    parameters: jid,
    responses: { 200: { description: "The stream", type: "text/event-stream" }, 404: noSuchJob },
  },
} as const satisfies Record<string, RouteDoc>;
