import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { encodePeelId } from "../../base/names/peel-id.ts";
import { described, integer, plain, plainMap, timestamp, titled } from "../../base/schema.ts";
import { content, shownContent } from "../../wire/content.ts";
import { hintForHidden } from "../../wire/hidden-values.ts";
import { shownReleased, showReleased } from "../../wire/released-content.ts";
import { endings } from "../../wire/return.ts";
import { type Call, feed, operation, operatorOf, pageFields, pageOf } from "../operation/mod.ts";
import { resolveFor, targetOf } from "../targeting/mod.ts";
import { type CancelDeps, stopJob } from "./cancel.ts";
import type { JobController } from "./controller.ts";
import { type DispatchDeps, dispatchJob, type JobIdentity } from "./dispatch.ts";
import { followJob } from "./follow.ts";
import {
  type Job,
  type JobSummary,
  jobSources,
  jobStatuses,
  outcomes,
  type SignedRequestOf,
} from "./records/mod.ts";
import { createRelay } from "./relay.ts";
import { jobRequestSchema } from "./request.ts";
import { isSealedTo, sealToOf } from "./seal-to.ts";
import { type JobView, type SeenReturn, type ShowDeps, showJob, storedJob } from "./show.ts";

const jid = described(v.string(), "Id of the job: `job-` and a KSUID");
const onlyJid = v.strictObject({ jid });
const touchesJid = (input: { jid: string }) => ({ job: input.jid });

const status = v.picklist(jobStatuses);
const targets = described(v.array(v.string()), "Encoded ids of the target peels");
const flag = (description: string) =>
  v.exactOptional(v.pipe(v.literal(true), v.metadata({ type: "boolean", description })));

const seenReturn: v.GenericSchema<SeenReturn> = titled(
  "JobReturn",
  v.object({
    success: v.boolean(),
    retcode: described(integer, "0 on success"),
    return: v.exactOptional(described(plain, "The result of the function")),
    error: v.exactOptional(described(v.string(), "Why it could not run, or failed")),
    started_at: timestamp,
    duration_ms: v.number(),
    outcome: v.exactOptional(
      described(v.picklist(endings), "How it ended, if the function did not run to its end"),
    ),
    late: flag("It arrived after the deadline"),
    truncated: flag("`return` is omitted because the answer would be too large; use `peel`"),
  }),
);

const common = {
  jid: v.string(),
  function: v.string(),
  target: v.exactOptional(described(v.string(), "The target expression, if there was one")),
  schedule: v.exactOptional(described(v.string(), "Entry of the peel's schedule that ran it")),
  source: v.exactOptional(
    described(
      v.picklist(jobSources),
      "What made it: a request, a schedule, a rollout or a rule of the reactor",
    ),
  ),
  status,
  counts: described(
    v.record(v.picklist(outcomes), integer),
    `Number of targets by outcome: ${outcomes.join(", ")}`,
  ),
  created_at: timestamp,
  created_by: described(v.string(), "Operator"),
  finished_at: v.exactOptional(timestamp),
  content: v.exactOptional(described(shownContent, "The state files that it was accepted for")),
};

const summary: v.GenericSchema<JobSummary> = titled(
  "JobSummary",
  v.object({
    ...common,
    args_text: v.exactOptional(
      described(
        v.string(),
        "The beginning of its arguments, for people: at most 120 characters, with what looks secret masked",
      ),
    ),
    targets: described(integer, "Number of target peels"),
    deadline: v.exactOptional(
      described(timestamp, "Until then a peel may start it and run it; of a job that runs"),
    ),
    runs: v.exactOptional(
      described(integer, "With `fold`: number of runs of its schedule, of which the row is the newest"),
    ),
    failed_runs: v.exactOptional(described(integer, "How many of these did not end well")),
  }),
);

const released = v.exactOptional(
  described(shownReleased, "What its peels run that obey operators only, where they run other state files"),
);
const hint = v.exactOptional(
  described(v.string(), "Where to see the values that `settings.get` and `settings.items` return as `***`"),
);
const viewFields = {
  ...common,
  args: plainMap,
  targets,
  metadata: plainMap,
  timeout: described(v.string(), "A duration"),
  deadline: described(timestamp, "Until then a peel may start it and run it"),
  request_id: v.exactOptional(
    described(v.string(), "Id of the request that dispatched it, as in the logs of masters and peels"),
  ),
  cancelled_at: v.exactOptional(timestamp),
  cancelled_by: v.exactOptional(v.string()),
  cancel_request_id: v.exactOptional(described(v.string(), "Id of the request that cancelled it")),
  approved_by: v.exactOptional(described(v.array(v.string()), "The other operators who agreed to it")),
  ...{ released, hint },
  complete: described(v.boolean(), "Whether every target has ended"),
  outcomes: described(v.record(v.string(), v.picklist(outcomes)), "By encoded peel id"),
  not_connected: v.exactOptional(
    described(
      v.record(v.string(), v.object({ since: v.exactOptional(timestamp) })),
      "Targets that are not connected, and get the job if they come back before the deadline",
    ),
  ),
};
const view: v.GenericSchema<JobView> = titled(
  "Job",
  v.object({
    ...viewFields,
    returns: described(v.record(v.string(), seenReturn), "By encoded peel id"),
  }),
);

/** What the operator signed, if it did, and what others signed to agree to it. */
export function signedOf({ caller, agreement }: Call): SignedRequestOf | undefined {
  const signed = caller.kind === "operator" ? caller.signed : undefined;
  if (signed === undefined) return undefined;
  return { ...signed, ...defined({ approvals: agreement?.signed }) };
}

/** What it takes to start a job. */
interface JobStart {
  dispatch: DispatchDeps;
  /** The ID of a job that an earlier call may have created. */
  identity?: JobIdentity;
}

export const createJob = operation({
  name: "jobs.create",
  kind: "change",
  summary: "Run a function on peels",
  admits: ["operator", "reactor"],
  scope: { kind: "jobs", action: "run" },
  input: jobRequestSchema,
  output: titled(
    "CreatedJob",
    v.object({
      jid: v.string(),
      targets,
      status: v.picklist(["running"]),
      /** Number of targets that are not connected now. */
      away: v.optional(v.number(), 0),
      content: v.exactOptional(described(shownContent, "The state files that it runs")),
      ...{ released, hint },
    }),
  ),
  touches: (input) => ({ peels: targetOf(input) }),
  async run({ dispatch: deps, identity: given }: JobStart, input, call) {
    const { requestId, log, span } = call;
    const resolve = resolveFor(call, deps.resolve);
    const { agreement } = call;
    const sealTo = sealToOf(call.caller, input.function, deps.mayReveal ?? (() => false));
    const approvedBy = agreement?.by;
    const source = call.caller.kind === "reactor" ? ("reactor" as const) : ("operator" as const);
    const about = defined({
      requestId,
      signed: signedOf(call),
      approvedBy,
      content: call.content,
      released: call.released,
      sealTo,
      span,
    });
    const scoped = { ...deps, resolve, log, source, ...about };
    const identity =
      agreement === undefined ? given : { jid: agreement.idFor("job"), createdAt: agreement.startedAt };
    const { job, away } = await dispatchJob(scoped, input, operatorOf(call), identity);
    call.note?.({ jid: job.jid });
    return {
      ...{ jid: job.jid, targets: job.targets, status: "running" as const, away },
      ...defined({
        content: job.content && content.show(job.content),
        released: job.released && showReleased(job.released),
        hint: job.sealTo === undefined ? hintForHidden(job.function) : undefined,
      }),
    };
  },
});

export const listJobs = operation({
  name: "jobs.list",
  kind: "read",
  summary: "List jobs, newest first",
  input: v.strictObject({
    status: v.optional(described(status, "Only those of this status")),
    // Not `operator`: over the bus that names the caller.
    by: v.optional(described(v.string(), "Only those that this operator or rule asked for")),
    function: v.optional(described(v.string(), "Only those whose function matches this glob")),
    target: v.optional(
      described(v.string(), "Only those that were sent to this peel, or whose target is this expression"),
    ),
    since: v.optional(described(timestamp, "Only those that were created at this time or later")),
    source: v.optional(described(v.picklist(jobSources), "Only those that this made")),
    schedule: v.optional(described(v.string(), "Only runs of the schedules that match this glob")),
    fold: v.optional(
      described(v.picklist(["schedules"]), "One row for all runs of a schedule, which is the newest run"),
    ),
    ...pageFields("job"),
  }),
  output: v.object({
    jobs: v.array(summary),
    /** Jobs of which masters have forgotten which peels they were sent to. */
    unsearched: v.exactOptional(v.number()),
    next: v.exactOptional(v.string()),
  }),
  async run(
    { controller }: { controller: Pick<JobController, "list"> },
    { limit, cursor, since, ...filter },
  ) {
    const { jobs, unsearched } = await controller.list({
      limit: limit + 1,
      ...defined({ ...filter, after: cursor, since: since === undefined ? undefined : Date.parse(since) }),
    });
    const { items, ...next } = pageOf(jobs, limit, (job) => job.jid);
    return { jobs: items, ...next, ...(unsearched === 0 ? {} : { unsearched }) };
  },
});

export const getJob = operation({
  name: "jobs.show",
  kind: "read",
  summary: "Get a job and the returns of its peels",
  input: v.strictObject({
    jid,
    peel: v.optional(described(v.string(), "Show only the return of this peel, complete")),
  }),
  output: v.object({ job: view }),
  touches: touchesJid,
  async run({ show: deps }: { show: ShowDeps }, input, { note }) {
    const only = input.peel === undefined ? undefined : encodePeelId(input.peel);
    const job = await showJob(deps, input.jid, only);
    note?.({ jid: job.jid });
    return { job };
  },
});

export const cancelJob = operation({
  name: "jobs.cancel",
  kind: "change",
  summary: "Cancel a job on every peel that has not ended it",
  input: onlyJid,
  output: v.object({
    /** The job without the values that its targets returned. */
    job: v.object(viewFields) as v.GenericSchema<Omit<JobView, "returns">>,
    view,
  }),
  touches: touchesJid,
  async run(deps: { cancel: CancelDeps; show: ShowDeps }, input, call) {
    const { requestId, log } = call;
    const scoped = { ...deps.cancel, log, ...defined({ requestId, signed: signedOf(call) }) };
    const { jid } = await stopJob(scoped, input.jid, operatorOf(call));
    call.note?.({ jid });
    const view = await showJob(deps.show, jid);
    const { returns: _, ...job } = view;
    return { job, view };
  },
});

export const streamJob = operation({
  name: "jobs.follow",
  kind: "read",
  summary: "Follow a job",
  description:
    "Server-sent events, including earlier ones. `begin`: `{jid, targets, counts}`; `ack`: a peel accepted the job, `{jid, peel, peel_id}`; `progress`: its progress, `{jid, peel, peel_id, done, total, failed, current}`; `output`: what a command wrote since the last one, of a job with `follow`, `{jid, peel, peel_id, output, skipped}`; `return`: its return, with the fields of `JobReturn`; `end`: the job has ended, or is due, with the fields of `Job` except `returns`, and in `signed` what its operator signed, if one did; the stream ends with it. All have `counts`, the number of targets by outcome. A comment comes every 30 seconds.",
  scope: { kind: "jobs", action: "show" },
  input: v.strictObject({
    jid,
    peel: v.optional(described(v.string(), "Only the return of this peel")),
    until: v.optional(
      described(
        v.picklist(["now", "due"]),
        "End while the job runs: `now` with what is known now, `due` when nobody is waited for but peels that are not connected",
      ),
    ),
  }),
  output: feed,
  touches: touchesJid,
  async run(
    { show, controller }: { show: ShowDeps; controller: Pick<JobController, "follow"> },
    input,
    { note, log, caller },
  ) {
    const deps = { ...show, follow: controller.follow };
    // Read the job before the stream opens: an unknown job is an error, not a stream.
    const job = await storedJob(deps, input.jid);
    const only = input.peel === undefined ? undefined : encodePeelId(input.peel);
    if (only !== undefined && !job.targets.includes(only)) {
      throw new SvcError("not_found", "this peel is not a target of the job");
    }
    note?.({ jid: job.jid });
    return {
      start(sink) {
        const stopping = new AbortController();
        const options = { signal: stopping.signal, ...defined({ until: input.until }) };
        let isSlow = false;
        const onBroken = (reason: unknown) => {
          isSlow = true;
          stopping.abort(reason);
        };
        const relay = createRelay(job, {
          ...{ bus: deps.bus, sink, signal: stopping.signal, only, onBroken },
          withSealed: isSealedTo(caller, job),
        });
        const finish = async ({ returns: _, ...end }: JobView) => {
          await relay.settle();
          sink.send("end", { ...end, ...signedIn(job) });
          sink.close();
        };
        followJob(deps, job, relay.pass, options)
          .then(finish)
          .catch((thrown) => {
            if (!stopping.signal.aborted) log.warn("a job stream broke off", { jid: job.jid, error: thrown });
            sink.close(
              isSlow ? "the client reads too slowly" : "the job cannot be followed: its master lost the bus",
            );
          });
        return () => stopping.abort(new Error("the client left"));
      },
    };
  },
});

/** The request that its operator signed, for those who sign it again. */
function signedIn({ request }: Job): { signed?: { subject: string; envelope: string } } {
  if (request === undefined) return {};
  return { signed: { subject: request.subject, envelope: Buffer.from(request.envelope).toString("base64") } };
}

/** What the operations on jobs need. */
export interface JobOperationDeps {
  dispatch: DispatchDeps;
  cancel: CancelDeps;
  show: ShowDeps;
  controller: Pick<JobController, "list" | "follow">;
}
