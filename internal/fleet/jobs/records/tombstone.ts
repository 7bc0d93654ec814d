import { SvcError } from "../../../base/errors.ts";
import type { Bucket } from "../../../bus/storage/mod.ts";
import { decodeJob, encodeJob, type Job } from "./record.ts";

/** A job as it would have been made. */
export type PlannedJob = Pick<
  Job,
  "jid" | "function" | "args" | "targets" | "metadata" | "timeoutMs" | "createdAt" | "createdBy"
>;

/**
 * Ensures that a job that may have been requested is never created: a tombstone takes its ID, which is a
 * cancelled job that was never sent. A delayed request for the job finds the tombstone.
 *
 * @param by the operator who forbids the job
 * @returns the job with this ID: one that is `forbidden`, or the real one, when it was created earlier
 * @throws SvcError `storage`
 */
export async function placeTombstone(
  { jobs }: { jobs: Bucket },
  planned: PlannedJob,
  { by, at }: { by: string; at: number },
): Promise<Job> {
  const { jid, targets, createdAt, timeoutMs } = planned;
  const forbidden: Job = {
    ...planned,
    source: "rollout",
    deadline: createdAt + timeoutMs,
    cancelledAt: at,
    cancelledBy: by,
    forbidden: true,
    settled: { status: "cancelled", counts: { cancelled: targets.length }, finishedAt: at, offline: [] },
  };
  if ((await jobs.create(jid, encodeJob(forbidden))) !== undefined) return forbidden;
  const entry = await jobs.get(jid);
  if (entry === undefined) throw new SvcError("conflict", `the job ${jid} existed, but is missing now`);
  return decodeJob(entry.value);
}
