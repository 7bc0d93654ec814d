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
  replicasFor,
  type SystemBus,
} from "../../bus/mod.ts";
import type { Enrollments, Vouchers } from "../../fleet/enrollment/mod.ts";

const retryMs = 2_000;

/** The buckets a master works with. */
export interface Storage {
  enrollments: Enrollments;
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
  /** For the records of enrollments. */
  vouchers: Vouchers;
  /** `storage_replicas`. */
  configuredReplicas: number;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/**
 * Provisions and opens all storage, and retries until JetStream accepts: a cluster may still be electing
 * leaders.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { bus, vouchers, log } = options;
  const replication = await provisionAll(options);
  const open = (name: AssetName) => openBucket(bus, name);
  return {
    enrollments: { ...(await open("enrollments")), vouchers },
    challenges: await openBucket(bus, "enroll-challenges", () =>
      provisionOne(bus, "enroll-challenges", replication, log),
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

async function provisionAll(options: StorageOptions): Promise<Replication> {
  const { bus, system, configuredReplicas, clock, log, signal } = options;
  const { warning, ...replication } = replicasFor(configuredReplicas, system.servers().jetstream);
  if (warning !== undefined) log.warn(warning);
  for (;;) {
    try {
      await provision(bus, replication, log);
      return replication;
    } catch (cause) {
      log.warn("storage is not ready", { error: describeError(cause), retry_in_ms: retryMs });
    }
    await sleep(clock, retryMs, signal);
  }
}
