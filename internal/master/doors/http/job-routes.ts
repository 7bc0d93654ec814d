import {
  createJob,
  getJob,
  type JobOperationDeps,
  listJobs,
  stopJob,
  streamJob,
} from "../../../fleet/jobs/mod.ts";
import type { HttpDoor } from "./bind.ts";
import { mostTargetsBytes } from "./body.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Jobs" } as const;
const noSuchJob = "The job does not exist";

/** The operator's routes to jobs (specification, "Operator REST API"). */
export function jobRoutes({ bind, stream }: HttpDoor, deps: JobOperationDeps): Route[] {
  return [
    bind(createJob, deps.dispatch, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/jobs",
      id: "createJob",
      body: "required",
      maxBodyBytes: mostTargetsBytes,
      show: ["jid", "targets", "status"],
      answers: { 202: "The job is stored and sent", 404: "No peel matches", 503: notRead },
    }),
    bind(listJobs, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/jobs",
      id: "listJobs",
      page: "jobs",
      answers: { 200: "One page of them", 400: "A parameter is malformed", 503: notRead },
    }),
    bind(getJob, deps.show, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/jobs/:jid",
      id: "getJob",
      show: "job",
      answers: { 200: "The job", 404: noSuchJob },
    }),
    bind(stopJob, deps, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/jobs/:jid/cancel",
      id: "cancelJob",
      show: "view",
      answers: { 200: "The job as it is now", 404: noSuchJob, 409: "The job has ended" },
    }),
    stream(streamJob, deps.show, {
      ...behindToken,
      path: "/api/v1/jobs/:jid/stream",
      id: "streamJob",
      // The longest job, and a margin.
      maxDurationMs: 24 * 3600_000 + 60_000,
      answers: { 200: "The stream", 404: noSuchJob },
    }),
  ];
}
