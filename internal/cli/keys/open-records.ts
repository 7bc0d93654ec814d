import { type Bus, openBucket } from "../../bus/mod.ts";
import { decodeJob, isGenuineJob, type Job } from "../../fleet/jobs/mod.ts";
import { decodeRollout, isLive } from "../../fleet/rollout/mod.ts";
import { createRecordMac, type KeyPair } from "../../identity/mod.ts";

/**
 * The jobs and rollouts that a command key vouches for and that masters may still act on. Jobs that have ended are
 * among them: a rollout looks up its own ones again after another master took it over.
 *
 * @throws SvcError `storage`
 */
export async function readOpenRecords(bus: Bus, key: KeyPair): Promise<string[]> {
  const mac = createRecordMac(key);
  const jobs = await (await openBucket(bus, "jobs")).entries();
  const rollouts = await (await openBucket(bus, "rollouts")).entries();
  return [
    ...jobs.flatMap(({ value }) => {
      const job = decoded<Job>(value, decodeJob);
      return job !== undefined && isGenuineJob(mac, "dispatch", job) ? [job.jid] : [];
    }),
    ...rollouts.flatMap(({ key: name, value }) => {
      // The lists of peels have keys of several tokens.
      const rollout = name.includes(".") ? undefined : decoded(value, decodeRollout);
      return rollout !== undefined && isLive(rollout) ? [rollout.id] : [];
    }),
  ];
}

function decoded<T>(value: Uint8Array, decode: (value: Uint8Array) => T): T | undefined {
  try {
    return decode(value);
  } catch {
    // No master wrote it.
    return undefined;
  }
}
