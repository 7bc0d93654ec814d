import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Jobs";
const queue = "svc.masters";
const noSuchJob = "The job does not exist";
const hints = { svc: { not_found: "see svc job list" } };

/** How jobs are reached (specification, "Operator REST API"). */
export const jobDoors = {
  createJob: {
    rest: {
      ...{
        method: "POST",
        path: "/api/v1/jobs",
        tag,
        show: ["jid", "targets", "status", "content", "released", "hint"],
        readsAll: true,
      },
      ...{ body: "required", maxBodyBytes: 512 * 1024 },
      answers: {
        202: "The job is stored and sent",
        404: "No peel matches",
        409: "`snapshot` names other state files than those that are in force",
      },
    },
    bus: { subject: "svc.job.request", queue, also: ["upgrades start"] },
    hints: { svc: { not_found: { about: "no peel matches", say: "see svc peels list" } } },
  },
  listJobs: {
    rest: {
      ...{ method: "GET", path: "/api/v1/jobs", tag, page: "jobs", readsAll: true },
      answers: { 200: "One page of them", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.job.list", queue, page: { usual: 20, max: 1_000 } },
  },
  getJob: {
    rest: {
      ...{ method: "GET", path: "/api/v1/jobs/:jid", tag, show: "job" },
      answers: { 200: "The job", 404: noSuchJob },
    },
    hints,
  },
  cancelJob: {
    rest: {
      ...{ method: "POST", path: "/api/v1/jobs/:jid/cancel", tag, show: "view" },
      answers: { 200: "The job as it is now", 404: noSuchJob, 409: "The job has ended" },
    },
    // The returned values may be too large for a message.
    bus: { subject: "svc.job.*.cancel", token: "jid", queue, reply: ["job"] },
    hints,
  },
  streamJob: {
    rest: {
      ...{ method: "GET", path: "/api/v1/jobs/:jid/stream", tag },
      // The longest job, and a margin.
      stream: { maxDurationMs: 24 * 3600_000 + 60_000 },
      answers: { 200: "The stream", 404: noSuchJob },
    },
    // The operator who runs something follows it.
    bus: { subject: "svc.admin.jobs.follow", also: ["jobs run", "rollouts start", "upgrades start"] },
    hints,
  },
} as const satisfies Doors<typeof operations>;
