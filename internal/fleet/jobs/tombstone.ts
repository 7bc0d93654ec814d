import { SvcError } from "../../base/errors.ts";
import type { Bucket } from "../../bus/mod.ts";
import { decodeJob, encodeJob, type Job } from "./record.ts";

/** A job as it would have been made. */
export type PlannedJob = Pick<
  Job,
  "jid" | "function" | "args" | "targets" | "metadata" | "timeoutMs" | "createdAt" | "createdBy"
>;

/**
 * Sees to it that a job which may have been asked for is never made: its id is taken by a job that is
 * cancelled already and was sent to nobody. Whoever asked for it, and goes on late, finds it there.
 *
 * @param by who forbids it
 * @returns the job that stands under this id: one that is `forbidden`, or the real one, when it was made before
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
    deadline: createdAt + timeoutMs,
    cancelledAt: at,
    cancelledBy: by,
    forbidden: true,
    settled: { status: "cancelled", counts: { cancelled: targets.length }, finishedAt: at, offline: [] },
  };
  if ((await jobs.create(jid, encodeJob(forbidden))) !== undefined) return forbidden;
  const entry = await jobs.get(jid);
  if (entry === undefined) throw new SvcError("conflict", `the job ${jid} was there and is gone`);
  return decodeJob(entry.value);
}
