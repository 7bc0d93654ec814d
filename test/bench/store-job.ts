import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import type { Bucket } from "../../internal/bus/storage/bucket.ts";
import { encodeJob, type Job } from "../../internal/fleet/jobs/records/record.ts";

const second = 1_000;
/** One job in so many is for the whole fleet; the others are results of schedules. */
const fleetEvery = 1_000;

/**
 * Stores one of many jobs that have ended: results of schedules of all peels, and jobs of operators.
 *
 * @param number the last of 200,000 is a few seconds old, and each one before a second more
 * @returns its id
 */
export async function storeJob(
  bucket: Pick<Bucket, "create">,
  peels: readonly string[],
  number: number,
): Promise<string> {
  const createdAt = systemClock.now() - Math.max(0, 200_000 - number) * second;
  const targets = number % fleetEvery === 0 ? [...peels] : [peels[number % peels.length] ?? ""];
  const isFailed = number % 50 === 0;
  const schedule = number % 10 === 0 ? {} : { schedule: `check-${number % 7}` };
  const jid = newId("job", createdAt, systemRandom);
  const job: Job = {
    ...{ jid, targets, metadata: {}, timeoutMs: second, createdAt, deadline: createdAt },
    ...{ function: number % 3 === 0 ? "pkg.install" : "test.ping", args: {} },
    createdBy: "schedule" in schedule ? "schedule" : `operator-${number % 20}`,
    ...schedule,
    settled: {
      status: isFailed ? "failed" : "completed",
      counts: isFailed ? { failed: targets.length } : { ok: targets.length },
      ...{ finishedAt: createdAt, offline: [] },
    },
  };
  await bucket.create(jid, encodeJob(job));
  return jid;
}
