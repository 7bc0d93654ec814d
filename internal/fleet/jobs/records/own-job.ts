import type { Bucket } from "../../../bus/storage/mod.ts";
import type { RecordMac } from "../../../identity/mod.ts";
import { decodeJob, type Job } from "./record.ts";
import { isGenuineJob } from "./record-mac.ts";

/**
 * Finds a job that was perhaps requested before, by its id.
 *
 * Peels store the results of their schedules under ids that they choose. So a job of this id may be one that
 * was never requested. Only a job that a master made for this operator counts, or the record that forbids it.
 *
 * @returns the job; `taken` when another job has the id; `undefined` when the id is free
 * @throws SvcError `storage`
 */
export async function findOwnJob(
  { jobs, mac }: { jobs: Pick<Bucket, "get">; mac: RecordMac },
  { jid, operator }: { jid: string; operator: string },
): Promise<Job | "taken" | undefined> {
  const entry = await jobs.get(jid);
  if (entry === undefined) return undefined;
  const job = decodeJob(entry.value);
  const isOwn = job.jid === jid && job.createdBy === operator;
  return isOwn && (job.forbidden === true || isGenuineJob(mac, "dispatch", job)) ? job : "taken";
}
