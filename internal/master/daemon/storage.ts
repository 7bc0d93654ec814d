import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  type AssetName,
  type Bucket,
  type Bus,
  openBucket,
  provision,
  provisionOne,
  type Replication,
  type Room,
  readOffer,
  replicasFor,
  type SystemBus,
} from "../../bus/mod.ts";

const retryMs = 2_000;

/** The buckets a master works with. */
export interface Storage {
  enrollments: Bucket;
  challenges: Bucket;
  revocations: Bucket;
  /** Holds `_cluster_info`. */
  secrets: Bucket;
  facts: Bucket;
  jobs: Bucket;
  settings: Bucket;
  leases: Bucket;
  reactor: Bucket;
  peelHeartbeats: Bucket;
  masterHeartbeats: Bucket;
}

export interface StorageOptions {
  bus: Bus;
  system: SystemBus;
  /** `storage_replicas`. */
  configuredReplicas: number;
  /** `jobs.max_bytes`. */
  jobsMaxBytes: number;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/**
 * Provisions and opens all storage, and retries until JetStream accepts: a cluster may still be electing
 * leaders.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { bus, log } = options;
  const { room, replication } = await provisionAll(options);
  const open = (name: AssetName) => openBucket(bus, name);
  return {
    enrollments: await open("enrollments"),
    challenges: await openBucket(bus, "enroll-challenges", () =>
      provisionOne(bus, "enroll-challenges", replication, log, room["enroll-challenges"]),
    ),
    revocations: await open("revocations"),
    secrets: await open("secrets"),
    facts: await open("facts"),
    jobs: await open("jobs"),
    settings: await open("settings"),
    leases: await open("leases"),
    reactor: await open("reactor"),
    peelHeartbeats: await open("peel-heartbeat"),
    masterHeartbeats: await open("master-heartbeat"),
  };
}

async function provisionAll(options: StorageOptions): Promise<Provisioned> {
  const { clock, log, signal } = options;
  const { warning } = replicasOf(options);
  if (warning !== undefined) log.warn(warning);
  for (;;) {
    try {
      return await provisionOnce(options);
    } catch (cause) {
      log.warn("storage is not ready", { error: describeError(cause), retry_in_ms: retryMs });
    }
    await sleep(clock, retryMs, signal);
  }
}

interface Provisioned {
  room: Room;
  replication: Replication;
}

/** Creates and adjusts all storage for what the bus offers now. @throws SvcError `unavailable` */
export async function provisionOnce(options: Omit<StorageOptions, "clock" | "signal">): Promise<Provisioned> {
  const { bus, system, jobsMaxBytes, log } = options;
  const { warning: _, ...replication } = replicasOf(options);
  const offer = await readOffer(bus, system);
  const wanted = { ...replication, jobsMaxBytes, ...(offer === undefined ? {} : { offer }) };
  return { room: await provision(bus, wanted, log), replication };
}

function replicasOf({ system, configuredReplicas }: Pick<StorageOptions, "system" | "configuredReplicas">) {
  return replicasFor(configuredReplicas, system.servers().jetstream);
}
