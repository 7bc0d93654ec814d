import {
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";
import { SvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Bus } from "./connect.ts";
import { managerOf } from "./jetstream/manager.ts";
import { isNotFound } from "./jetstream/request.ts";
import { eventSubject, jobEventSubjects } from "./subjects.ts";

const second = 1_000;
const day = 24 * 60 * 60 * second;
const mebibyte = 1024 * 1024;

interface Asset {
  kind: "bucket" | "stream" | "objects";
  /** Subjects of a stream; those of a bucket and an object store follow from its name. */
  subjects?: readonly string[];
  storage?: StorageType;
  /** How long a value is kept, in milliseconds; absent means until it is replaced. */
  ttlMs?: number;
  maxBytes?: number;
  /**
   * Whether it refuses new messages when it is full; absent means that a bucket does and a stream does not.
   */
  refuseWhenFull?: boolean;
  /**
   * Peels write to it across the account boundary: messages are small and may never carry a rollup header.
   */
  peelsWrite?: { maxMessageBytes: number };
  /** It stores decisions: a message may replace only messages of its own key. */
  decisions?: true;
  /** How many revisions of a key are kept; absent means the latest. */
  history?: number;
}

/**
 * Revisions kept of an enrollment. A whole life has five. The rest keeps the last revision of a master when
 * others overwrite the record, so that an operator can restore it.
 */
const enrollmentHistory = 16;

/** Every bucket, stream and object store of the service (decisions, section "Bus"). */
export const assets = {
  enrollments: { kind: "bucket", decisions: true, history: enrollmentHistory },
  "enroll-challenges": {
    kind: "bucket",
    storage: StorageType.Memory,
    ttlMs: 300 * second,
    maxBytes: 64 * mebibyte,
  },
  secrets: { kind: "bucket" },
  "peel-heartbeat": { kind: "bucket", ttlMs: 30 * second, peelsWrite: { maxMessageBytes: 4096 } },
  "master-heartbeat": { kind: "bucket", ttlMs: 15 * second },
  leases: { kind: "bucket", ttlMs: 15 * second },
  jobs: { kind: "bucket", ttlMs: 7 * day },
  facts: { kind: "bucket", peelsWrite: { maxMessageBytes: mebibyte } },
  settings: { kind: "bucket" },
  revocations: { kind: "bucket", decisions: true },
  rollouts: { kind: "bucket" },
  reactor: { kind: "bucket" },
  "job-events": {
    kind: "stream",
    subjects: jobEventSubjects,
    ttlMs: 7 * day,
    peelsWrite: { maxMessageBytes: mebibyte },
  },
  // A full stream refuses messages, and the publisher gets an error. Newer messages never push out stored
  // ones.
  events: {
    kind: "stream",
    subjects: [eventSubject("*", ">")],
    ttlMs: day,
    maxBytes: 512 * mebibyte,
    refuseWhenFull: true,
    peelsWrite: { maxMessageBytes: 64 * 1024 },
  },
  states: { kind: "objects" },
  binaries: { kind: "objects" },
} as const satisfies Record<string, Asset>;

export type AssetName = keyof typeof assets;

/** Whether a message to this bucket may carry a rollup header, which removes what was there before. */
export function takesRollups(bucket: string): boolean {
  const asset: Asset | undefined = Object.hasOwn(assets, bucket) ? assets[bucket as AssetName] : undefined;
  return asset?.peelsWrite === undefined && asset?.decisions !== true;
}

/** Number of replicas for the storage. */
export interface Replication {
  replicas: number;
  /** Keep additional replicas: a server that is away for a moment is not a reason to delete replicas. */
  onlyRaise: boolean;
}

/**
 * The replication factor that `storage_replicas` means on a cluster of this size; with 0 the cluster size
 * decides.
 */
export function replicasFor(configured: number, clusterSize: number): Replication & { warning?: string } {
  const recommended = Math.min(3, clusterSize);
  if (configured === 0) return { replicas: recommended, onlyRaise: true };
  if (configured >= recommended) return { replicas: configured, onlyRaise: false };
  return {
    replicas: configured,
    onlyRaise: false,
    warning: `storage_replicas is ${configured}, below ${recommended} for a cluster of ${clusterSize}`,
  };
}

/**
 * Creates or adjusts all storage of the service on the bus. A replication factor that the cluster cannot
 * provide does not stop a master: a new asset is created with one replica, an existing one keeps its
 * replicas, and a warning is logged.
 *
 * @throws SvcError `unavailable` when JetStream does not answer
 */
export async function provision(bus: Bus, replication: Replication, log: Log): Promise<void> {
  const manager = await managerOf(bus);
  for (const name of Object.keys(assets) as AssetName[]) {
    await provisionAsset(manager, name, replication, log);
  }
}

/** Creates one asset again: a restart of the bus removes the bucket that is kept in memory. */
export async function provisionOne(
  bus: Bus,
  name: AssetName,
  replication: Replication,
  log: Log,
): Promise<void> {
  await provisionAsset(await managerOf(bus), name, replication, log);
}

/** The name of the stream behind an asset. */
export function streamName(name: AssetName): string {
  return { bucket: `KV_${name}`, objects: `OBJ_${name}`, stream: name }[assets[name].kind];
}

async function provisionAsset(
  manager: JetStreamManager,
  name: AssetName,
  { replicas, onlyRaise }: Replication,
  log: Log,
): Promise<void> {
  const wanted = streamConfig(name, replicas);
  const existing = await infoOf(manager, wanted.name);
  if (existing === undefined) {
    try {
      await manager.streams.add(wanted);
    } catch (cause) {
      if (replicas === 1) throw unavailable(name, cause);
      log.warn("storage created with 1 replica", { asset: name, wanted: replicas, error: cause });
      await manager.streams.add({ ...wanted, num_replicas: 1 }).catch((again) => {
        throw unavailable(name, again);
      });
    }
    return;
  }
  await protectDecisions(manager, name, existing, wanted, log);
  const enough = onlyRaise ? existing.num_replicas >= replicas : existing.num_replicas === replicas;
  if (!enough) {
    try {
      await manager.streams.update(wanted.name, { ...existing, num_replicas: replicas });
      log.info("storage replicas changed", { asset: name, from: existing.num_replicas, to: replicas });
    } catch (cause) {
      log.warn("storage replicas could not be changed; continuing with the current replicas, or with 1", {
        asset: name,
        has: existing.num_replicas,
        wanted: replicas,
        error: cause,
      });
    }
  }
}

/** Storage of earlier versions took rollup headers, and kept no revision but the latest. */
async function protectDecisions(
  manager: JetStreamManager,
  name: AssetName,
  existing: StreamConfig,
  wanted: StreamConfig,
  log: Log,
): Promise<void> {
  const asset: Asset = assets[name];
  if (asset.decisions !== true) return;
  const { allow_rollup_hdrs, max_msgs_per_subject } = wanted;
  if (
    existing.allow_rollup_hdrs === allow_rollup_hdrs &&
    existing.max_msgs_per_subject === max_msgs_per_subject
  )
    return;
  existing.allow_rollup_hdrs = allow_rollup_hdrs;
  existing.max_msgs_per_subject = max_msgs_per_subject;
  try {
    await manager.streams.update(wanted.name, existing);
    log.info("storage of decisions protected", { asset: name, history: max_msgs_per_subject });
  } catch (cause) {
    log.error("storage of decisions could not be protected", { asset: name, error: cause });
  }
}

async function infoOf(manager: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (cause) {
    if (isNotFound(cause)) return undefined;
    throw unavailable(name, cause);
  }
}

function streamConfig(name: AssetName, replicas: number): StreamConfig {
  const asset: Asset = assets[name];
  return {
    name: streamName(name),
    subjects: subjectsOf(name, asset),
    retention: RetentionPolicy.Limits,
    storage: asset.storage ?? StorageType.File,
    num_replicas: replicas,
    max_msgs_per_subject: asset.kind === "bucket" ? (asset.history ?? 1) : -1,
    max_msgs: -1,
    max_bytes: asset.maxBytes ?? -1,
    max_age: nanos(asset.ttlMs ?? 0),
    max_msg_size: asset.peelsWrite?.maxMessageBytes ?? -1,
    max_consumers: -1,
    discard: refusesWhenFull(asset) ? DiscardPolicy.New : DiscardPolicy.Old,
    // With a rollup header on one key, a peel or an operator could erase the whole bucket.
    allow_rollup_hdrs: takesRollups(name),
    deny_delete: asset.kind === "bucket",
    deny_purge: false,
    allow_direct: false,
    // The jobs detect duplicates themselves, so the server does not need to remember them.
    duplicate_window: nanos(Math.min(120 * second, asset.ttlMs ?? 120 * second)),
  } as StreamConfig;
}

/** A full bucket of challenges drops the oldest ones; a full bucket of records refuses new ones. */
function refusesWhenFull({ kind, maxBytes, refuseWhenFull }: Asset): boolean {
  return refuseWhenFull ?? (kind !== "stream" && maxBytes === undefined);
}

function subjectsOf(name: string, asset: Asset): string[] {
  if (asset.kind === "bucket") return [`$KV.${name}.>`];
  if (asset.kind === "objects") return [`$O.${name}.C.>`, `$O.${name}.M.>`];
  return [...(asset.subjects ?? [])];
}

function unavailable(name: string, cause: unknown): SvcError {
  return new SvcError(
    "unavailable",
    `cannot provision ${name}: JetStream refused it; see the log of the bus`,
    {
      cause,
    },
  );
}
