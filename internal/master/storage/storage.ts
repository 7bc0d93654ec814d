import { createBoundedMap } from "../../base/bounded-map.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { shareRuns } from "../../base/share-runs.ts";
import {
  type AssetName,
  probeStorage,
  provision,
  provisionOne,
  type Replication,
  type Room,
  readOffer,
  replicasFor,
} from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { SystemBus } from "../../bus/servers/mod.ts";
import { type Bucket, openBucket } from "../../bus/storage/mod.ts";
import { type Challenges, maxMadeChallenges } from "../../fleet/enrollment/joining/mod.ts";
import { createReadings, type Enrollments, type Vouchers } from "../../fleet/enrollment/store/mod.ts";

const retryMs = 2_000;
/** Below what a client waits for its answer. */
const confirmMs = 3_000;

/** The buckets a master works with. */
export interface Storage {
  enrollments: Enrollments;
  challenges: Challenges;
  requestNonces: Bucket;
  sessions: Bucket;
  revocations: Bucket;
  /** Holds `_cluster_info`. */
  secrets: Bucket;
  facts: Bucket;
  complianceDiffs: Bucket;
  jobs: Bucket;
  settings: Bucket;
  leases: Bucket;
  operators: Bucket;
  releases: Bucket;
  operatorRevocations: Bucket;
  reactor: Bucket;
  sites: Bucket;
  plans: Bucket;
  tokens: Bucket;
  joinTokens: Bucket;
  expected: Bucket;
  approvals: Bucket;
  peelHeartbeats: Bucket;
  presence: Bucket;
  instances: Bucket;
  samples: Bucket;
  masterHeartbeats: Bucket;
}

export interface StorageOptions {
  bus: Bus;
  system: SystemBus;
  /** Of this master. */
  name: string;
  /** For the records of enrollments. */
  vouchers: Vouchers;
  /** `storage_replicas`. */
  configuredReplicas: number;
  /** `storage_create`. */
  creates: boolean;
  /** `jobs.max_bytes`. */
  jobsMaxBytes: number;
  /** `audit.retention`, milliseconds. */
  auditRetentionMs: number;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/**
 * Provisions and opens all storage, and retries until JetStream accepts: a cluster may still be electing
 * leaders.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { bus, name, vouchers, log } = options;
  const { room, replication } = await provisionAll(options);
  const open = (name: AssetName) => openBucket(bus, name);
  /** A restart of the bus removes what is kept in memory only. */
  const openInMemory = (name: "enroll-challenges" | "request-nonces" | "sessions") =>
    openBucket(bus, name, () => provisionOne(bus, name, replication, log, room[name]));
  return {
    enrollments: {
      ...(await open("enrollments")),
      vouchers,
      readings: createReadings(),
      // A write needs a majority. Many peels may send requests at the same moment.
      confirmMajority: shareRuns(() => probeStorage(bus, "master-probe", name, confirmMs)),
    },
    challenges: {
      ...(await openInMemory("enroll-challenges")),
      made: createBoundedMap(maxMadeChallenges),
    },
    requestNonces: await openInMemory("request-nonces"),
    sessions: await openInMemory("sessions"),
    revocations: await open("revocations"),
    secrets: await open("secrets"),
    facts: await open("facts"),
    complianceDiffs: await open("compliance-diffs"),
    jobs: await open("jobs"),
    settings: await open("settings"),
    leases: await open("leases"),
    operators: await open("operators"),
    releases: await open("releases"),
    operatorRevocations: await open("operator-revocations"),
    reactor: await open("reactor"),
    sites: await open("sites"),
    plans: await open("plans"),
    tokens: await open("tokens"),
    joinTokens: await open("join-tokens"),
    expected: await open("expected"),
    approvals: await open("approvals"),
    peelHeartbeats: await open("peel-heartbeat"),
    presence: await open("presence"),
    instances: await open("instances"),
    samples: await open("samples"),
    masterHeartbeats: await open("master-heartbeat"),
  };
}

async function provisionAll(options: StorageOptions): Promise<Provisioned> {
  const { clock, log, signal } = options;
  const { warning } = replicasOf(options);
  if (warning !== undefined) log.warn(warning);
  let said = "";
  for (;;) {
    try {
      // A master that starts serves first: more replicas come after that.
      return await provisionOnce(options, false);
    } catch (cause) {
      const error = describeError(cause);
      // A cluster that must be upgraded first takes hours, and an election seconds.
      if (error !== said) log.warn("storage is not ready", { error, retry_in_ms: retryMs });
      said = error;
    }
    await sleep(clock, retryMs, signal);
  }
}

interface Provisioned {
  room: Room;
  replication: Replication;
}

/** Creates and adjusts all storage for what the bus offers now. @throws SvcError `unavailable` */
export async function provisionOnce(
  options: Omit<StorageOptions, "name" | "vouchers" | "clock" | "signal">,
  raises = true,
): Promise<Provisioned> {
  const { bus, system, creates, jobsMaxBytes, auditRetentionMs, log } = options;
  const { warning: _, ...replication } = replicasOf(options);
  const offer = await readOffer(bus, system);
  const servers = system.present();
  const wanted = {
    ...replication,
    creates,
    raises,
    jobsMaxBytes,
    auditRetentionMs,
    servers,
    ...(offer === undefined ? {} : { offer }),
  };
  return { room: await provision(bus, wanted, log), replication };
}

/** The replication that is wanted on the servers that the bus has now. */
export function replicasOf({
  system,
  configuredReplicas,
}: Pick<StorageOptions, "system" | "configuredReplicas">) {
  return replicasFor(configuredReplicas, system.servers().jetstream);
}
