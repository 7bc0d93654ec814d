import { cancelSubject, jobListSubject, jobRequestSubject, mastersQueue } from "../../bus/mod.ts";
import { createJob, type JobOperationDeps, listJobs, stopJob } from "../jobs/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const queue = mastersQueue;

export const jobsOverBus = {
  create: overBus({ operation: createJob, subject: jobRequestSubject, queue }),
  list: overBus({ operation: listJobs, subject: jobListSubject, queue, page: { usual: 20, max: 1_000 } }),
  cancel: overBus({
    operation: stopJob,
    subject: cancelSubject("*"),
    token: "jid",
    queue,
    // The returned values may be too large for a message.
    reply: ["job"],
  }),
};

export function serveJobs(door: BusDoor, deps: JobOperationDeps): void {
  serve(door, jobsOverBus.create, deps.dispatch);
  serve(door, jobsOverBus.list, deps);
  serve(door, jobsOverBus.cancel, deps);
}
