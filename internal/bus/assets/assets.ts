import {
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from "nats";
import { formatByteSize, mebibyte } from "../../base/byte-size.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../connection/mod.ts";
import { isNotFound, managerOf } from "../jetstream/mod.ts";
import { type BusServerInfo, replicaAdvice, replicaProblem } from "../servers/mod.ts";
import { auditSubjects, eventSubject, jobEventSubjects } from "../subjects/subjects.ts";
import { isNewer, versionMetadata } from "./asset-version.ts";
import { untilComplete } from "./change-replicas.ts";
import { fittingHistory, keepRevisions } from "./key-history.ts";
import { type Offer, planRoom, type Room } from "./room.ts";

const second = 1_000;
const day = 24 * 60 * 60 * second;

interface Asset {
  kind: "bucket" | "stream" | "objects";
  /** Its name on the bus, where a bucket and an object store have one name. */
  as?: string;
  /** Subjects of a stream; those of a bucket and an object store follow from its name. */
  subjects?: readonly string[];
  storage?: StorageType;
  /** How long a value is kept, in milliseconds; absent means until it is replaced. */
  ttlMs?: number;
  /** Give way to what is new when it is full; absent means that what is new is refused. */
  discardsWhenFull?: boolean;
  /** Peels write to it across the wall: messages are small and may never carry a rollup header. */
  peelsWrite?: { maxMessageBytes: number };
  /** It stores decisions: a message may replace only messages of its own key. */
  decisions?: true;
  /** Nothing in it is changed or removed before its time, not even by a master. */
  appendOnly?: true;
  /** How many revisions of a key are kept; absent means the latest. */
  history?: number;
}

/**
 * Revisions kept of an enrollment. A whole life has five. The rest keeps the last revision of a master when
 * others overwrite the record, so that an operator can restore it.
 */
const enrollmentHistory = 16;
/** Revisions kept of the release of an environment, for the same reason. */
const releaseHistory = 16;
/** Revisions kept of the facts of a peel, where there is room: what changed when. */
const factsHistory = 10;

/** Every bucket, stream and object store of the service (decisions, section "Bus"). */
export const assets = {
  enrollments: { kind: "bucket", decisions: true, history: enrollmentHistory },
  "enroll-challenges": {
    kind: "bucket",
    storage: StorageType.Memory,
    ttlMs: 300 * second,
    discardsWhenFull: true,
  },
  // A nonce that gave way to another one could be used again: a full bucket refuses.
  "request-nonces": { kind: "bucket", storage: StorageType.Memory, ttlMs: 180 * second },
  // Of the console: as long as one lasts. Masters bound how many there are.
  sessions: { kind: "bucket", storage: StorageType.Memory, ttlMs: 8 * 3600 * second },
  // Longer than any entry lasts: masters remove what has ended.
  expected: { kind: "bucket", ttlMs: 370 * day, decisions: true },
  secrets: { kind: "bucket" },
  "peel-heartbeat": { kind: "bucket", ttlMs: 30 * second, peelsWrite: { maxMessageBytes: 4096 } },
  // Since when peels are silent: one entry for each that is.
  presence: { kind: "bucket", discardsWhenFull: true },
  // Which processes of each peel were seen, to find out whether two hosts hold its identity.
  instances: { kind: "bucket", discardsWhenFull: true },
  // How the fleet was over time; keys come around, and nothing is removed.
  samples: { kind: "bucket", discardsWhenFull: true },
  "master-heartbeat": { kind: "bucket", ttlMs: 15 * second },
  leases: { kind: "bucket", ttlMs: 15 * second },
  // A new job must not wait until the records of old ones expire.
  jobs: { kind: "bucket", ttlMs: 7 * day, discardsWhenFull: true },
  facts: { kind: "bucket", history: factsHistory, peelsWrite: { maxMessageBytes: mebibyte } },
  // The last run of states of each peel, and its differences.
  compliance: { kind: "bucket", peelsWrite: { maxMessageBytes: 64 * 1024 } },
  "compliance-diffs": {
    kind: "bucket",
    ttlMs: 7 * day,
    discardsWhenFull: true,
    peelsWrite: { maxMessageBytes: 128 * 1024 },
  },
  settings: { kind: "bucket" },
  revocations: { kind: "bucket", decisions: true },
  operators: { kind: "bucket", decisions: true },
  // Of each environment: the release before is an earlier revision.
  releases: { kind: "bucket", decisions: true, history: releaseHistory },
  "operator-revocations": { kind: "bucket", decisions: true },
  rollouts: { kind: "bucket" },
  reactor: { kind: "bucket" },
  sites: { kind: "bucket", decisions: true },
  tokens: { kind: "bucket", decisions: true },
  "join-tokens": { kind: "bucket", decisions: true },
  // Longer than a request waits, so that the requester can see how it ended.
  approvals: { kind: "bucket", ttlMs: 7 * day, decisions: true },
  // Plans of changes, and what they are made of.
  plans: { kind: "bucket", ttlMs: day, discardsWhenFull: true },
  "plan-parts": { kind: "objects", as: "plans", ttlMs: day, discardsWhenFull: true },
  // What operators and masters write and read to see whether anything is stored at all.
  probe: { kind: "bucket", ttlMs: 3600 * second, discardsWhenFull: true },
  "master-probe": { kind: "bucket", ttlMs: 3600 * second, discardsWhenFull: true },
  // A full stream refuses, and the publisher sends it again: what was taken is never pushed out by what comes
  // after. Masters make room.
  "job-events": {
    kind: "stream",
    subjects: jobEventSubjects,
    ttlMs: 7 * day,
    peelsWrite: { maxMessageBytes: mebibyte },
  },
  events: {
    kind: "stream",
    subjects: [eventSubject("*", ">")],
    ttlMs: day,
    peelsWrite: { maxMessageBytes: 64 * 1024 },
  },
  // A full audit refuses, and nothing is decided then.
  audit: { kind: "stream", subjects: auditSubjects, ttlMs: 400 * day, appendOnly: true },
  states: { kind: "objects" },
  binaries: { kind: "objects" },
} as const satisfies Record<string, Asset>;

export type AssetName = keyof typeof assets;

/** Whether a message to this bucket may carry a rollup header, which removes what was there before. */
export function takesRollups(bucket: string): boolean {
  const asset: Asset | undefined = Object.hasOwn(assets, bucket) ? assets[bucket as AssetName] : undefined;
  return asset?.peelsWrite === undefined && asset?.decisions !== true && asset?.appendOnly !== true;
}

/** Whether what an asset holds is on the disks of the bus. */
export function isOnDisk(asset: string): boolean {
  const found: Asset | undefined = Object.hasOwn(assets, asset) ? assets[asset as AssetName] : undefined;
  return found !== undefined && found.storage !== StorageType.Memory;
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

/** What storage on this bus must be like. */
export interface Provisioning extends Replication {
  /** What the bus offers; absent when it does not say. */
  offer?: Offer;
  /** `jobs.max_bytes`; 0 or absent means the default. */
  jobsMaxBytes?: number;
  /** `audit.retention`, milliseconds; absent means that of the asset. */
  auditRetentionMs?: number;
  /** Every server of the cluster. */
  servers?: readonly BusServerInfo[];
  /** Whether a bus that has nothing of the fleet gets all of it; absent means yes. */
  creates?: boolean;
  /** Whether what exists gets more replicas, which takes about a second for each stream; absent means yes. */
  raises?: boolean;
}

/** Of a fleet that moves to a cluster it arrives last. */
export const firstAsset = "enrollments" satisfies AssetName;
const nothingThere =
  "the bus has nothing of this fleet yet, and storage_create is false: it comes with the host that had it; see svc cluster add";

/** How long the next stream waits until one is complete on its servers; after that, masters try again later. */
const completeMs = 10_000;

/** What is assumed where the bus does not say: what a small fleet needs. */
const smallOffer: Offer = { storage: 256 * mebibyte, memory: 256 * mebibyte };

/**
 * Creates or adjusts everything the service stores on the bus.
 *
 * A replication factor or a limit that the cluster cannot give does not stop a master: a new asset is created
 * with one replica, an existing one keeps what it has, and the log reports it.
 *
 * @returns how many bytes each asset may hold
 * @throws SvcError `unavailable` when JetStream does not answer, or when there would be replicas on servers
 * that are too old for them, or where nothing may be created on an empty bus; nothing was changed then
 */
export async function provision(
  bus: Bus,
  {
    offer,
    jobsMaxBytes = 0,
    auditRetentionMs = assets.audit.ttlMs,
    servers = [],
    creates = true,
    raises: mayRaise = true,
    ...replication
  }: Provisioning,
  log: Log,
): Promise<Room> {
  const manager = await managerOf(bus);
  const names = Object.keys(assets) as AssetName[];
  const found = await Promise.all(
    names.map(async (name) => [name, await infoOf(manager, streamName(name))] as const),
  );
  const existing = new Map(found.flatMap(([name, info]) => (info === undefined ? [] : [[name, info]])));
  if (!creates && !existing.has(firstAsset)) throw new SvcError("unavailable", nothingThere);
  const kept = replication.onlyRaise ? [...existing.values()].map(({ config }) => config.num_replicas) : [];
  const problem = Math.max(replication.replicas, ...kept) > 1 ? replicaProblem(servers) : undefined;
  if (problem !== undefined) throw new SvcError("unavailable", `${problem}: ${replicaAdvice}`);
  const held = Object.fromEntries(
    [...existing].map(([name, { state, config }]) => [
      name,
      { bytes: state.bytes, maxBytes: config.max_bytes },
    ]),
  );
  const room = planRoom({ offer: offer ?? smallOffer, held, jobsMaxBytes });
  if (offer === undefined) log.warn("the bus does not say how much it can store; limits stay as they are");
  const limitOf = (name: AssetName) =>
    offer === undefined ? (existing.get(name)?.config.max_bytes ?? room[name]) : room[name];
  // What gives room up goes first: the server grants a limit only where it can reserve it.
  const grows = (name: AssetName) => {
    const has = existing.get(name)?.config.max_bytes;
    return has === undefined ? 2 : has > 0 && limitOf(name) > has ? 1 : 0;
  };
  let raises = mayRaise;
  for (const name of names.toSorted((one, other) => grows(one) - grows(other))) {
    const info = existing.get(name);
    if (info === undefined) await createAsset(bus, name, limitOf(name), replication, log, auditRetentionMs);
    else if (!isNewer(info.config)) {
      const config =
        name === "audit" ? await retainFor(manager, info.config, auditRetentionMs, log) : info.config;
      const { bytes } = info.state;
      const wanted = raises ? replication : keptReplicas(config.num_replicas, replication);
      const from = config.num_replicas;
      const raised = await adjustAsset(manager, name, { config, bytes }, limitOf(name), wanted, log);
      // One after the other: a server that gets copies of everything at once serves nothing meanwhile.
      if (raised && from < replication.replicas) raises = await isComplete(bus, name, replication, log);
    }
  }
  return Object.fromEntries(names.map((name) => [name, limitOf(name)])) as Record<AssetName, number>;
}

/** Creates one asset again: a restart of the bus removes the bucket that is kept in memory. */
export async function provisionOne(
  bus: Bus,
  name: AssetName,
  replication: Replication,
  log: Log,
  maxBytes = planRoom({ offer: smallOffer, held: {}, jobsMaxBytes: 0 })[name],
): Promise<void> {
  const manager = await managerOf(bus);
  if ((await infoOf(manager, streamName(name))) !== undefined) return;
  await createAsset(bus, name, maxBytes, replication, log);
}

/** The name of the stream behind an asset. */
export function streamName(name: AssetName): string {
  const { kind, as = name }: Asset = assets[name];
  return { bucket: `KV_${as}`, objects: `OBJ_${as}`, stream: name }[kind];
}

async function createAsset(
  bus: Bus,
  name: AssetName,
  maxBytes: number,
  { replicas }: Replication,
  log: Log,
  auditRetentionMs: number = assets.audit.ttlMs,
): Promise<void> {
  const manager = await managerOf(bus);
  const own = { ...streamConfig(name, maxBytes, replicas), ...versionMetadata(bus) };
  const wanted = name === "audit" ? { ...own, max_age: nanos(auditRetentionMs) } : own;
  let refusal: unknown;
  // What the server cannot give is no longer requested: a fleet with less is better than none.
  const fallbacks = [
    { what: "storage created with 1 replica", config: { ...wanted, num_replicas: 1 } },
    { what: "storage created without a limit", config: { ...wanted, num_replicas: 1, max_bytes: -1 } },
  ];
  try {
    await manager.streams.add(wanted);
    return;
  } catch (cause) {
    refusal = cause;
  }
  for (const { what, config } of replicas === 1 ? fallbacks.slice(1) : fallbacks) {
    if (isSilent(refusal)) break;
    log.warn(what, { asset: name, wanted: replicas, error: describeError(refusal) });
    try {
      await manager.streams.add(config);
      return;
    } catch (cause) {
      refusal = cause;
    }
  }
  throw unavailable(name, refusal);
}

/** Whether nothing was refused: JetStream did not answer. */
function isSilent(thrown: unknown): boolean {
  return !(thrown instanceof NatsError && thrown.isJetStreamError());
}

async function adjustAsset(
  manager: JetStreamManager,
  name: AssetName,
  { config: existing, bytes }: { config: StreamConfig; bytes: number },
  maxBytes: number,
  { replicas, onlyRaise }: Replication,
  log: Log,
): Promise<boolean> {
  const { max_bytes: had, num_replicas: from } = existing;
  let config = await keepHistory(manager, name, { config: existing, bytes, maxBytes }, log);
  const discard = discardOf(assets[name]);
  if (had !== maxBytes || existing.discard !== discard) {
    try {
      config = (await manager.streams.update(existing.name, { ...config, max_bytes: maxBytes, discard }))
        .config;
      const before = had > 0 ? formatByteSize(had) : "none";
      log.info("storage limit changed", { asset: name, from: before, to: formatByteSize(maxBytes) });
    } catch (cause) {
      log.warn("the limit of a stream could not be changed; it keeps what it has", {
        asset: name,
        has: had > 0 ? formatByteSize(had) : "none",
        wanted: formatByteSize(maxBytes),
        error: describeError(cause),
      });
    }
  }
  const enough = onlyRaise ? from >= replicas : from === replicas;
  if (enough) return false;
  try {
    await manager.streams.update(existing.name, {
      ...config,
      num_replicas: replicas,
      allow_direct: replicas > 1,
    });
    log.info("storage replicas changed", { asset: name, from, to: replicas });
    return true;
  } catch (cause) {
    log.warn("storage replicas could not be changed; continuing with the current replicas, or with 1", {
      asset: name,
      has: from,
      wanted: replicas,
      error: cause,
    });
    return false;
  }
}

/** More copies of a stream wait for the one before. */
const keptReplicas = (has: number, { replicas, onlyRaise }: Replication): Replication => ({
  replicas: Math.min(replicas, has),
  onlyRaise,
});

/** Whether a stream with more replicas than before is complete on all its servers soon. */
async function isComplete(bus: Bus, name: AssetName, { replicas }: Replication, log: Log): Promise<boolean> {
  if (await untilComplete(bus, streamName(name), { replicas, timeoutMs: completeMs })) return true;
  log.warn("a stream is not complete on its servers yet; the others wait for it", { asset: name, replicas });
  return false;
}

/** Gives the audit its retention. A failure is logged: what is kept stays as it is. */
async function retainFor(
  manager: JetStreamManager,
  existing: StreamConfig,
  retentionMs: number,
  log: Log,
): Promise<StreamConfig> {
  const max_age = nanos(retentionMs);
  if (existing.max_age === max_age) return existing;
  try {
    const { config } = await manager.streams.update(existing.name, { ...existing, max_age });
    log.info("retention changed", { asset: existing.name, retention_ms: retentionMs });
    return config;
  } catch (cause) {
    log.warn("the retention could not be changed", { asset: existing.name, error: describeError(cause) });
    return existing;
  }
}

/** Gives a bucket the history that there is room for. */
async function keepHistory(
  manager: JetStreamManager,
  name: AssetName,
  { config, bytes, maxBytes }: { config: StreamConfig; bytes: number; maxBytes: number },
  log: Log,
): Promise<StreamConfig> {
  const wanted = yieldingHistory(name);
  if (wanted === undefined) return config;
  const retains = config.max_msgs_per_subject;
  return keepRevisions(manager, config, fittingHistory({ bytes, maxBytes }, { wanted, retains }), log);
}

/**
 * How many revisions of a key a bucket keeps where there is room, if it keeps fewer where there is none.
 *
 * @returns `undefined` for a bucket without a history, and for decisions, whose history is a part of their protection
 */
export function yieldingHistory(name: AssetName): number | undefined {
  const asset: Asset = assets[name];
  return asset.decisions === true ? undefined : asset.history;
}

async function infoOf(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (cause) {
    if (isNotFound(cause)) return undefined;
    throw unavailable(name, cause);
  }
}

/** What a stream is like from its creation on. */
export function streamConfig(name: AssetName, maxBytes: number, replicas: number): StreamConfig {
  const asset: Asset = assets[name];
  return {
    name: streamName(name),
    subjects: subjectsOf(name, asset),
    retention: RetentionPolicy.Limits,
    storage: asset.storage ?? StorageType.File,
    num_replicas: replicas,
    max_msgs_per_subject: asset.kind === "bucket" ? (asset.history ?? 1) : -1,
    max_msgs: -1,
    max_bytes: maxBytes,
    max_age: nanos(asset.ttlMs ?? 0),
    max_msg_size: asset.peelsWrite?.maxMessageBytes ?? -1,
    max_consumers: -1,
    discard: discardOf(asset),
    // With a rollup header on one key, a peel or an operator could erase the whole bucket.
    allow_rollup_hdrs: takesRollups(name),
    deny_delete: asset.kind === "bucket" || asset.appendOnly === true,
    deny_purge: asset.appendOnly === true,
    // So that the replicas can be compared: each server answers for its own.
    allow_direct: replicas > 1,
    // The jobs detect duplicates themselves, so the server does not need to remember them.
    duplicate_window: nanos(Math.min(120 * second, asset.ttlMs ?? 120 * second)),
  } as StreamConfig;
}

/** A full challenge bucket gives way to newer challenges; a full bucket of records refuses. */
function discardOf({ discardsWhenFull }: Asset): DiscardPolicy {
  return discardsWhenFull === true ? DiscardPolicy.Old : DiscardPolicy.New;
}

function subjectsOf(key: string, asset: Asset): string[] {
  const { as: name = key } = asset;
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
