import { SvcError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import type { Board } from "../../../fleet/jobs/board.ts";
import { type CancelDeps, cancelJob } from "../../../fleet/jobs/cancel.ts";
import {
  checkJobRequest,
  type DispatchDeps,
  dispatchJob,
  jobRequestSchema,
} from "../../../fleet/jobs/dispatch.ts";
import { followJob, type Progress } from "../../../fleet/jobs/follow.ts";
import { type JobStatus, jobStatuses } from "../../../fleet/jobs/outcome.ts";
import { loadJob, type ShowDeps, showJob } from "../../../fleet/jobs/show.ts";
import { encodePeelId } from "../../../identity/peel-id.ts";
import { onlyKnown } from "./body.ts";
import { jobDocs } from "./job-docs.ts";
import { pageOf, pageResponse } from "./page.ts";
import { json, type Route } from "./route.ts";
import { eventStream } from "./stream.ts";

const heartbeatMs = 30_000;
/** The longest job, and a little. */
const maxStreamMs = 24 * 3600_000 + 60_000;

export interface JobRouteDeps {
  dispatch: DispatchDeps;
  cancel: CancelDeps;
  show: ShowDeps;
  board: Pick<Board, "list">;
}

/** The operator's doors to jobs (specification, "Operator REST API"). */
export function jobRoutes(deps: JobRouteDeps): Route[] {
  return [
    {
      method: "POST",
      path: "/api/v1/jobs",
      auth: "bearer",
      budget: "relaxed",
      body: "json",
      doc: jobDocs.create,
      async handle({ body, username, requestId, note, log }) {
        const scoped = { ...deps.dispatch, requestId, log };
        const { job } = await dispatchJob(
          scoped,
          checkJobRequest(onlyKnown(body, Object.keys(jobRequestSchema.entries))),
          username,
        );
        note({ jid: job.jid });
        return json(202, { jid: job.jid, targets: job.targets, status: "running" });
      },
    },
    {
      method: "GET",
      path: "/api/v1/jobs",
      auth: "bearer",
      budget: "relaxed",
      doc: jobDocs.list,
      async handle({ query }) {
        const status = statusOf(query.get("status"));
        const page = pageOf(query, (text) => isId("job", text));
        const filter = status === undefined ? {} : { status };
        const found = await deps.board.list({ ...page, ...filter, limit: page.limit + 1 });
        return pageResponse(found, page, { path: "/api/v1/jobs", query: filter, idOf: ({ jid }) => jid });
      },
    },
    {
      method: "GET",
      path: "/api/v1/jobs/:jid",
      auth: "bearer",
      budget: "relaxed",
      doc: jobDocs.show,
      async handle({ params, query, note }) {
        const peel = query.get("peel");
        const only = peel === null ? undefined : encodePeelId(peel);
        const view = await showJob(deps.show, params.jid ?? "", only);
        note({ jid: view.jid });
        return json(200, view);
      },
    },
    {
      method: "POST",
      path: "/api/v1/jobs/:jid/cancel",
      auth: "bearer",
      budget: "relaxed",
      body: "optional-json",
      doc: jobDocs.cancel,
      async handle({ params, username, requestId, note, log }) {
        const job = await cancelJob({ ...deps.cancel, requestId, log }, params.jid ?? "", username);
        note({ jid: job.jid });
        return json(200, await showJob(deps.show, job.jid));
      },
    },
    {
      method: "GET",
      path: "/api/v1/jobs/:jid/stream",
      auth: "bearer",
      budget: "relaxed",
      doc: jobDocs.stream,
      async handle({ params, signal, note, keepOpen, log }) {
        // Read once before the stream opens: an unknown job is a 404, not a stream.
        const known = await loadJob(deps.show, params.jid ?? "");
        const { jid } = known.job;
        note({ jid });
        keepOpen();
        return eventStream({
          clock: deps.show.clock,
          signal,
          heartbeatMs,
          maxDurationMs: maxStreamMs,
          start(sink) {
            const stopping = new AbortController();
            const onProgress = ({ event, running }: Progress) => {
              if (running !== undefined) {
                const { peel, ...progress } = running;
                sink.send("progress", { jid, peel_id: peel, ...progress });
              }
              if (event === undefined) return;
              const { peel } = event;
              if (event.return === undefined) sink.send("ack", { jid, peel_id: peel });
              else sink.send("return", { jid, peel_id: peel, ...event.return });
            };
            followJob(deps.show, jid, onProgress, { signal: stopping.signal, replay: true })
              .then(
                ({ status, counts, outcomes }) => sink.send("end", { jid, status, counts, outcomes }),
                (thrown) => {
                  if (!stopping.signal.aborted) log.warn("a job stream broke off", { jid, error: thrown });
                },
              )
              .finally(() => sink.close());
            return () => stopping.abort(new Error("the client left"));
          },
        });
      },
    },
  ];
}

function statusOf(text: string | null): JobStatus | undefined {
  if (text === null) return undefined;
  const found = jobStatuses.find((status) => status === text);
  if (found !== undefined) return found;
  throw new SvcError("bad_request", `status must be one of ${jobStatuses.join(", ")}`);
}
