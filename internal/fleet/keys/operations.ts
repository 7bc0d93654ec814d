import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import { described, integer, timestamp } from "../../base/schema.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { type Enrollment, memberStates } from "../enrollment/record/mod.ts";
import { type Enrollments, readEnrollments } from "../enrollment/store/mod.ts";
import { decodeJob, isGenuineJob } from "../jobs/records/mod.ts";
import { operation } from "../operation/mod.ts";
import { decodeRollout, isLive } from "../rollout/mod.ts";

/** Where a master looks for what still depends on a key. */
export interface KeysDeps {
  enrollments: Enrollments;
  jobs: Pick<Bucket, "entries">;
  rollouts: Pick<Bucket, "entries">;
  /** What a command key of this master vouches with. */
  macOf(publicKey: string): RecordMac | undefined;
  clock: Pick<Clock, "now">;
}

export const listDependents = operation({
  name: "keys.dependents",
  kind: "read",
  summary: "List what depends on a key that is being replaced",
  scope: { kind: "keys", action: "read" },
  input: v.strictObject({
    issued_before: v.optional(
      described(timestamp, "Since when every master issues with the next account key"),
    ),
    command_key: v.optional(described(v.string(), "The public command key before")),
  }),
  output: v.object({
    members: described(integer, "Number of members: each holds its own key"),
    peels: described(v.array(v.string()), "Encoded ids of members with unexpired credentials issued before"),
    records: described(
      v.array(v.string()),
      "Ids of the jobs and open rollouts that the command key vouches for",
    ),
  }),
  async run({ enrollments, jobs, rollouts, macOf, clock }: KeysDeps, input) {
    const members = (await readEnrollments(enrollments)).filter(({ state }) => memberStates.has(state));
    const since = input.issued_before === undefined ? undefined : Date.parse(input.issued_before);
    const mac = input.command_key === undefined ? undefined : macOf(input.command_key);
    return {
      members: members.length,
      peels: since === undefined ? [] : dependentsOf(members, since, clock.now()),
      records:
        mac === undefined
          ? []
          : [...genuineJobs(await jobs.entries(), mac), ...openRollouts(await rollouts.entries())],
    };
  },
});

/** Those whose credentials in use were issued before a moment, and have not expired. */
function dependentsOf(members: readonly Enrollment[], since: number, now: number): string[] {
  return members
    .filter((record) => (record.credsExpiresAt ?? 0) > now && issuedAt(record) < since)
    .map(({ peelId }) => peelId)
    .sort();
}

function issuedAt({ issuedAt: first, renewedAt, recoveredAt, rekeyedAt }: Enrollment): number {
  return Math.max(first ?? 0, renewedAt ?? 0, recoveredAt ?? 0, rekeyedAt ?? 0);
}

type Entries = Awaited<ReturnType<Bucket["entries"]>>;

/** Ended jobs are among them: a rollout looks up its own ones again after another master took it over. */
const genuineJobs = (entries: Entries, mac: RecordMac) =>
  entries.flatMap(({ value }) => {
    const job = decoded(value, decodeJob);
    return job !== undefined && isGenuineJob(mac, "dispatch", job) ? [job.jid] : [];
  });

const openRollouts = (entries: Entries) =>
  entries.flatMap(({ key, value }) => {
    // The lists of peels have keys of several tokens.
    const rollout = key.includes(".") ? undefined : decoded(value, decodeRollout);
    return rollout !== undefined && isLive(rollout) ? [rollout.id] : [];
  });

function decoded<T>(value: Uint8Array, decode: (value: Uint8Array) => T): T | undefined {
  // No master wrote it.
  return attempt(() => decode(value));
}
