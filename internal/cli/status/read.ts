import { abortable } from "../../base/abortable.ts";
import { rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { displayPeelId, namesOf, type PeelNames } from "../../base/peel-id.ts";
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
  askReadiness,
  type HeldLease,
  hasFailed,
  type MasterBeat,
  type MasterReadiness,
  readLeases,
  readMasters,
} from "../../fleet/masters/mod.ts";
import {
  decodeRollout,
  isLive,
  type Rollout,
  type RolloutSummary,
  summaryOf,
} from "../../fleet/rollout/mod.ts";
import { soonMs } from "../../program/diagnosis/mod.ts";
import { storageProblem } from "../storage-problem.ts";
import { clockDifferenceOf, readPeels } from "./heartbeats.ts";

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
    /** Those whose clock differs from that of the bus: jobs expire by it. */
    wrong_clocks: (PeelNames & { ahead_ms: number })[];
    /** Those that refused commands since their start, by reason. */
    refusing: (PeelNames & { commands_refused: Record<string, number> })[];
  };
  pending: (EnrollmentSummary & PeelNames)[];
  /** Members that are kept off the bus. */
  suspended: (PeelNames & { id: string; at: string; reason: string })[];
  /** Members whose identity two hosts appear to hold. */
  clones: (PeelNames & { id: string; seen_at: string })[];
  /** Members whose credentials have ended, or end soon: peels renew them by themselves. */
  credentials: { ended: number; within_7_days: number; within_30_days: number };
  /** Users of the bus that are refused because no valid record has their key. */
  strays: (PeelNames & { bus_public_key: string; refused_at: string })[];
  jobs: { jid: string; function: string; targets: number; created_at: string; deadline: string }[];
  /** Unfinished rollouts, oldest first. */
  rollouts: RolloutSummary[];
  /** With what each says of itself. */
  masters: (MasterBeat & MasterReadiness)[];
  leases: HeldLease[];
  /** Expiries within 30 days, earliest first. */
  ending: { what: string; ends_at: string }[];
  /** Remarks for the operator. */
  notes: string[];
}

const dayMs = 24 * 3600_000;
/** How long the contents of one bucket may take. */
const readMs = 4_000;

/**
 * Reads the state of a fleet from the bus, and asks each master how it is. What does not answer is missing,
 * and named in the notes.
 *
 * @param certificateEnds expiry of the certificate of the bus server, milliseconds since the Unix epoch; absent
 *   when it is not known
 * @param late when it aborts, what was not read by then is missing
 * @returns also whether something did not answer, or a master is not ready
 */
export async function readStatus(
  bus: Bus,
  certificateEnds: number | undefined,
  late: AbortSignal,
): Promise<{ status: FleetStatus; failed: boolean }> {
  const notes: string[] = [];
  let failed = false;
  const read = async <T>(name: (typeof sources)[number], by: (bucket: Bucket) => Promise<T[]>) => {
    try {
      const state = (await abortable(inspectAssets(bus, [name]), late)).get(name);
      notes.push(...noteOf(name, state));
      return state === "there" ? await inTime(by(await openBucket(bus, name)), bus, late) : [];
    } catch (thrown) {
      failed = true;
      notes.push(`cannot show ${name}: ${describeError(thrown)}`);
      return [];
    }
  };
  const askIt = async (beat: MasterBeat) => {
    const asking = abortable(askReadiness(bus, beat.name), late);
    const silent = (thrown: unknown): MasterReadiness => ({
      readiness: "silent",
      reason: describeError(thrown),
    });
    return { ...beat, ...(await asking.catch(silent)) };
  };
  const [records, beats, masters, jobs, rollouts, leases, strays] = await Promise.all([
    read("enrollments", readEnrollments),
    read("peel-heartbeat", readPeels),
    read("master-heartbeat", readMasters).then((found) => Promise.all(found.map(askIt))),
    read("jobs", readRunning),
    read("rollouts", readLive),
    read("leases", readLeases),
    read("revocations", (bucket) => readStrays(bucket, bus.clock.now())),
  ]);
  for (const { name, readiness, reason } of masters) {
    if (readiness !== "up") notes.push(`master ${name} is ${readiness}: ${reason ?? "no reason given"}`);
  }
  if (masters.length === 0) {
    const problem = await abortable(storageProblem(bus), late).catch(() => undefined);
    failed ||= problem !== undefined;
    notes.push(
      problem === undefined
        ? "no master is running: enrollments, jobs and revocations are not processed"
        : `masters cannot store their heartbeats: ${problem}`,
    );
  }
  const alive = new Map(beats.map((beat) => [beat.key, beat.version]));
  const members = records.filter(({ state }) => state === "issued" || state === "active");
  const now = bus.clock.now();
  const ends = [
    { what: "certificate of the bus", at: certificateEnds ?? Number.NaN },
    ...masters.map(({ name, certificate_ends_at }) => ({
      what: `certificate of the master ${name}`,
      at: Date.parse(certificate_ends_at ?? ""),
    })),
    ...members.map(({ peelId, credsExpiresAt }) => ({
      what: `credentials of ${displayPeelId(peelId)}`,
      at: credsExpiresAt ?? Number.NaN,
    })),
  ];
  const status: FleetStatus = {
    peels: {
      states: countBy(records.map(({ state }) => state)),
      alive: members.filter(({ peelId }) => alive.has(peelId)).length,
      silent: members
        .filter(({ peelId }) => !alive.has(peelId))
        .map(({ peelId }) => peelId)
        .sort(),
      versions: countBy(members.flatMap(({ peelId }) => alive.get(peelId) ?? [])),
      wrong_clocks: beats.flatMap((beat) => {
        const ahead = clockDifferenceOf(beat);
        return ahead === undefined ? [] : [{ ...namesOf(beat.key), ahead_ms: ahead }];
      }),
      refusing: beats.flatMap(({ key, commands_refused }) =>
        commands_refused === undefined ? [] : [{ ...namesOf(key), commands_refused }],
      ),
    },
    pending: records
      .filter(({ state }) => state === "pending")
      .map((record) => ({ ...namesOf(record.peelId), ...summarize(record) })),
    suspended: records.flatMap(({ id, peelId, suspended }) =>
      suspended === undefined
        ? []
        : [{ id, ...namesOf(peelId), at: rfc3339(suspended.at), reason: suspended.reason }],
    ),
    clones: members.flatMap(({ id, peelId, cloneSuspected, cloneSeenAt, updatedAt }) =>
      cloneSuspected === true ? [{ id, ...namesOf(peelId), seen_at: rfc3339(cloneSeenAt ?? updatedAt) }] : [],
    ),
    credentials: countEnding(
      members.flatMap(({ credsExpiresAt }) => credsExpiresAt ?? []),
      now,
    ),
    strays: strays.map(({ peelId, busPublicKey, revokedAt }) => ({
      ...namesOf(peelId),
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
  return { status, failed: failed || masters.some(hasFailed) };
}

/** How many credentials have ended, and how many of the others end within some days. */
function countEnding(ends: readonly number[], now: number): FleetStatus["credentials"] {
  const within = (days: number) => ends.filter((at) => at > now && at - now < days * dayMs).length;
  const ended = ends.filter((at) => at <= now).length;
  return { ended, within_7_days: within(7), within_30_days: within(30) };
}

/** @throws SvcError `unavailable` when it takes too long */
async function inTime<T>(reading: Promise<T>, { clock }: Pick<Bus, "clock">, late: AbortSignal): Promise<T> {
  const slow = new AbortController();
  const timer = clock.after(readMs, () =>
    slow.abort(new SvcError("unavailable", `no answer within ${readMs / 1000} s`)),
  );
  return abortable(reading, AbortSignal.any([late, slow.signal])).finally(() => timer.cancel());
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
