import { rfc3339 } from "../../base/clock.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import {
  type AssetName,
  type Bucket,
  type Bus,
  inspectAssets,
  newerCredentials,
  openBucket,
} from "../../bus/mod.ts";
import {
  type EnrollmentState,
  type EnrollmentSummary,
  readEnrollments,
  readStrays,
  summarize,
} from "../../fleet/enrollment/mod.ts";
import { decodeJob, type Job } from "../../fleet/jobs/mod.ts";
import {
  decodeRollout,
  isLive,
  type Rollout,
  type RolloutSummary,
  summaryOf,
} from "../../fleet/rollout/mod.ts";
import { soonMs } from "../../program/diagnosis/mod.ts";
import { type HeldLease, type MasterBeat, readLeases, readMasters, readPeels } from "./heartbeats.ts";

const sources = [
  "enrollments",
  "peel-heartbeat",
  "master-heartbeat",
  "jobs",
  "rollouts",
  "leases",
  "revocations",
] as const;

/** The state of a fleet. */
export interface FleetStatus {
  peels: {
    states: Partial<Record<EnrollmentState, number>>;
    /** Number of members with a heartbeat. */
    alive: number;
    /** Encoded ids of the members without a heartbeat. */
    silent: string[];
    versions: Record<string, number>;
  };
  pending: EnrollmentSummary[];
  /** Users of the bus that are refused because no valid record has their key. */
  strays: { peel_id: string; bus_public_key: string; refused_at: string }[];
  jobs: { jid: string; function: string; targets: number; created_at: string; deadline: string }[];
  /** Unfinished rollouts, oldest first. */
  rollouts: RolloutSummary[];
  masters: MasterBeat[];
  leases: HeldLease[];
  /** Expiries within 30 days, earliest first. */
  ending: { what: string; ends_at: string }[];
  /** Remarks for the operator. */
  notes: string[];
}

/**
 * Reads the state of a fleet from the bus, without a master.
 *
 * @param certificateEnds expiry of the certificate of the bus server, milliseconds since the Unix epoch
 */
export async function readStatus(bus: Bus, certificateEnds: number): Promise<FleetStatus> {
  const states = await inspectAssets(bus, sources);
  const notes = sources.flatMap((name) => noteOf(name, states.get(name)));
  const read = async <T>(name: (typeof sources)[number], by: (bucket: Bucket) => Promise<T[]>) =>
    states.get(name) === "there" ? by(await openBucket(bus, name)) : [];
  const [records, beats, masters, jobs, rollouts, leases, strays] = await Promise.all([
    read("enrollments", readEnrollments),
    read("peel-heartbeat", readPeels),
    read("master-heartbeat", readMasters),
    read("jobs", readRunning),
    read("rollouts", readLive),
    read("leases", readLeases),
    read("revocations", (bucket) => readStrays(bucket, bus.clock.now())),
  ]);
  if (masters.length === 0)
    notes.push("no master is running: enrollments, jobs and revocations are not processed");
  const alive = new Map(beats.map((beat) => [beat.key, beat.version]));
  const members = records.filter(({ state }) => state === "issued" || state === "active");
  const now = bus.clock.now();
  const ends = [
    { what: "certificate of the bus", at: certificateEnds },
    ...masters.map(({ name, certificate_ends_at }) => ({
      what: `certificate of the master ${name}`,
      at: Date.parse(certificate_ends_at ?? ""),
    })),
    ...members.map(({ peelId, credsExpiresAt }) => ({
      what: `credentials of ${displayPeelId(peelId)}`,
      at: credsExpiresAt ?? Number.NaN,
    })),
  ];
  return {
    peels: {
      states: countBy(records.map(({ state }) => state)),
      alive: members.filter(({ peelId }) => alive.has(peelId)).length,
      silent: members
        .filter(({ peelId }) => !alive.has(peelId))
        .map(({ peelId }) => peelId)
        .sort(),
      versions: countBy(members.flatMap(({ peelId }) => alive.get(peelId) ?? [])),
    },
    pending: records.filter(({ state }) => state === "pending").map(summarize),
    strays: strays.map(({ peelId, busPublicKey, revokedAt }) => ({
      peel_id: peelId,
      bus_public_key: busPublicKey,
      refused_at: rfc3339(revokedAt),
    })),
    jobs: jobs.map(({ jid, targets, createdAt, deadline, ...job }) => ({
      jid,
      function: job.function,
      targets: targets.length,
      created_at: rfc3339(createdAt),
      deadline: rfc3339(deadline),
    })),
    rollouts: rollouts.map(summaryOf),
    masters,
    leases,
    ending: ends
      .filter(({ at }) => at - now < soonMs)
      .sort((one, other) => one.at - other.at)
      .map(({ what, at }) => ({ what, ends_at: rfc3339(at) })),
    notes,
  };
}

async function readRunning(bucket: Bucket): Promise<Job[]> {
  const jobs = (await bucket.entries()).map(({ value }) => decodeJob(value));
  return jobs.filter(({ settled, schedule }) => settled === undefined && schedule === undefined);
}

/** Reads rollouts without their lists of peels, which are large and have separate keys. */
async function readLive(bucket: Bucket): Promise<Rollout[]> {
  const found = new Map<string, Uint8Array | undefined>();
  const watch = bucket.watch(({ key, value }) => void found.set(key, value), "*");
  try {
    await watch.ready;
  } finally {
    watch.stop();
  }
  const rollouts = [...found.values()].flatMap((value) =>
    value === undefined ? [] : [decodeRollout(value)],
  );
  return rollouts.filter(isLive).sort((one, other) => one.createdAt - other.createdAt);
}

function noteOf(name: AssetName, state: string | undefined): string[] {
  if (state === "there") return [];
  if (state === "refused")
    return [`cannot show ${name}: these credentials may not read it; ${newerCredentials}`];
  return [`${name} does not exist: start or restart a master: it creates what is missing`];
}

function countBy<Key extends string>(keys: readonly Key[]): Record<Key, number> {
  const counts = Map.groupBy(keys, (key) => key);
  return Object.fromEntries([...counts].map(([key, same]) => [key, same.length])) as Record<Key, number>;
}
