import { gibibyte, mebibyte } from "../../base/byte-size.ts";

/** What the bus offers to the service, bytes. */
export interface Offer {
  /** On disk. */
  storage: number;
  memory: number;
}

/** What exists already, by asset. */
export type Held = Readonly<Partial<Record<RoomName, { bytes: number; maxBytes: number }>>>;

/** How many bytes each asset may hold. */
export type Room = Readonly<Record<RoomName, number>>;

export interface RoomOptions {
  offer: Offer;
  held: Held;
  /** `jobs.max_bytes`; 0 means the default. */
  jobsMaxBytes: number;
}

/** The most that `job-events` gets without `jobs.max_bytes`. */
const usualJobsBytes = 8 * gibibyte;
/** The part of the offer that stays free: a server also stores what was removed and not yet cleaned up. */
const spareShare = 0.1;
/** What a stream gets above what it holds where it holds more than its share. */
const usualGrowth = 1.25;
/** The audit never shrinks before its time, and nothing is decided when it is full. */
const auditGrowth = 2;
const growthOf = (name: string): number => (name === "audit" ? auditGrowth : usualGrowth);
/** No asset gets less than this part of its least: where even that is missing, the server refuses. */
const minScale = 0.25;
/** A limit that is at least this part of its share stays as it is: the offer changes a little with each start. */
const closeEnough = 0.75;

interface Share {
  /** What a small fleet needs. */
  min: number;
  /** What a fleet of 10,000 peels does not exceed. */
  max: number;
  /** Part of what is left when each has its least. */
  weight: number;
}

const fixed = (bytes: number): Share => ({ min: bytes, max: bytes, weight: 0 });
const share = (min: number, max: number, weight: number): Share => ({ min, max, weight });

/** All that is on disk but `job-events`. The buckets that decisions are stored in come first. */
const shares = {
  enrollments: share(8 * mebibyte, 512 * mebibyte, 2),
  revocations: share(4 * mebibyte, 64 * mebibyte, 1),
  operators: fixed(mebibyte),
  releases: share(mebibyte, 8 * mebibyte, 0.25),
  "operator-revocations": fixed(mebibyte),
  secrets: fixed(mebibyte),
  sites: fixed(mebibyte),
  tokens: fixed(mebibyte),
  // One key for each use.
  "join-tokens": share(mebibyte, 64 * mebibyte, 0.5),
  expected: share(mebibyte, 64 * mebibyte, 0.5),
  approvals: share(mebibyte, 64 * mebibyte, 0.5),
  leases: fixed(mebibyte),
  reactor: share(2 * mebibyte, 64 * mebibyte, 0.5),
  rollouts: share(4 * mebibyte, 256 * mebibyte, 1),
  "peel-heartbeat": share(4 * mebibyte, 64 * mebibyte, 0.5),
  presence: share(mebibyte, 32 * mebibyte, 0.25),
  instances: share(mebibyte, 64 * mebibyte, 0.25),
  samples: fixed(mebibyte),
  "master-heartbeat": fixed(mebibyte),
  probe: fixed(mebibyte),
  "master-probe": fixed(mebibyte),
  settings: share(5 * mebibyte, gibibyte, 2),
  facts: share(8 * mebibyte, 2 * gibibyte, 2),
  compliance: share(mebibyte, 512 * mebibyte, 1),
  "compliance-diffs": share(mebibyte, gibibyte, 1),
  jobs: share(12 * mebibyte, 4 * gibibyte, 5),
  plans: fixed(mebibyte),
  "plan-parts": share(mebibyte, 512 * mebibyte, 1),
  events: share(7 * mebibyte, 512 * mebibyte, 3),
  states: share(10 * mebibyte, 4 * gibibyte, 4),
  audit: share(4 * mebibyte, 4 * gibibyte, 3),
  binaries: share(9 * mebibyte, 4 * gibibyte, 6),
} as const satisfies Record<string, Share>;

type Shared = keyof typeof shares;
/** The assets that get room: all of them. */
type RoomName = Shared | "job-events" | "enroll-challenges" | "request-nonces" | "sessions";
const shared = Object.keys(shares) as Shared[];

/**
 * Divides what the bus offers among all that the service stores, so that no stream can take what another one
 * needs: the server reserves the limit of each. No limit is below what a stream holds.
 */
export function planRoom({ offer, held, jobsMaxBytes }: RoomOptions): Room {
  const bytesOf = (name: RoomName) => held[name]?.bytes ?? 0;
  const usable = Math.floor(offer.storage * (1 - spareShare));
  const wanted = jobsMaxBytes === 0 ? Math.min(usualJobsBytes, Math.floor(offer.storage / 2)) : jobsMaxBytes;
  const others = shared.reduce(
    (sum, name) => sum + Math.max(shares[name].min, bytesOf(name) * growthOf(name)),
    0,
  );
  // Where others hold more than their part, and where the option is more than there is.
  const fits = Math.max(Math.floor(usable / 8), Math.floor(usable - others));
  const jobEvents = Math.max(Math.min(wanted, fits), bytesOf("job-events"));
  const limits = divide(usable - jobEvents, bytesOf);
  return {
    ...(Object.fromEntries(shared.map((name) => [name, settled(limits[name], held[name])])) as Record<
      Shared,
      number
    >),
    "job-events": jobsMaxBytes === 0 ? settled(jobEvents, held["job-events"]) : jobEvents,
    "enroll-challenges": Math.min(64 * mebibyte, Math.floor(offer.memory / 4)),
    "request-nonces": Math.min(64 * mebibyte, Math.floor(offer.memory / 4)),
    sessions: Math.min(16 * mebibyte, Math.floor(offer.memory / 8)),
  };
}

/** Gives each its least, then parts of the rest by weight, until all have their most or nothing is left. */
function divide(bytes: number, bytesOf: (name: Shared) => number): Record<Shared, number> {
  const limits = {} as Record<Shared, number>;
  const needed = shared.reduce((sum, name) => sum + shares[name].min, 0);
  // A bus that is smaller than what a small fleet needs is divided by the same proportions.
  const scale = Math.min(1, Math.max(minScale, bytes / needed));
  let rest = bytes;
  for (const name of shared) {
    const max = Math.max(shares[name].max, bytesOf(name));
    limits[name] = Math.max(Math.floor(shares[name].min * scale), bytesOf(name));
    if (bytesOf(name) > shares[name].min)
      limits[name] = Math.min(max, Math.ceil(bytesOf(name) * growthOf(name)));
    // Not only above its least: it must never be full.
    if (name === "audit") limits[name] = Math.max(limits[name], Math.ceil(bytesOf(name) * auditGrowth));
    rest -= limits[name];
  }
  for (;;) {
    const open = shared.filter((name) => limits[name] < shares[name].max);
    const weight = open.reduce((sum, name) => sum + shares[name].weight, 0);
    if (rest < mebibyte || weight === 0) return limits;
    let given = 0;
    for (const name of open) {
      const part = Math.floor((rest * shares[name].weight) / weight);
      const more = Math.min(part, shares[name].max - limits[name]);
      limits[name] += more;
      given += more;
    }
    rest -= given;
    if (given < mebibyte) return limits;
  }
}

function settled(limit: number, held: { bytes: number; maxBytes: number } | undefined): number {
  const has = held?.maxBytes ?? -1;
  return has >= Math.max(limit * closeEnough, held?.bytes ?? 0) && has <= limit ? has : limit;
}
