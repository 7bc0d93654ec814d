import type { Plain } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/bucket.ts";
import { decodeJob, type Job } from "../jobs/record.ts";

/** Maximum number of cached jobs and targets. A job may have 100,000 targets. */
const mostJobs = 1_024;
const mostTargets = 200_000;

/** What an event needs to know about its job. */
export interface KnownJob {
  function: string;
  metadata: Readonly<Record<string, Plain>>;
  createdBy: string;
  targets: ReadonlySet<string>;
  /** Chain depth of its returns. */
  depth: number;
}

/** @returns `undefined` when the job does not exist. @throws SvcError `storage` */
export type JobOf = (jid: string) => Promise<KnownJob | undefined>;

/** Looks up jobs with a cache: a job has as many returns as targets. */
export function createJobLookup(jobs: Pick<Bucket, "get">): JobOf {
  /** Ordered by last use. */
  const known = new Map<string, { found: Promise<KnownJob | undefined>; targets: number }>();
  let targets = 0;
  const forget = (jid: string) => {
    targets -= known.get(jid)?.targets ?? 0;
    known.delete(jid);
  };
  const load = async (jid: string): Promise<KnownJob | undefined> => {
    const stored = await jobs.get(jid);
    if (stored === undefined) {
      forget(jid);
      return undefined;
    }
    const job = knownOf(decodeJob(stored.value));
    const entry = known.get(jid);
    if (entry !== undefined) {
      entry.targets = job.targets.size;
      targets += entry.targets;
    }
    for (const oldest of known.keys()) {
      if ((known.size <= mostJobs && targets <= mostTargets) || oldest === jid) break;
      forget(oldest);
    }
    return job;
  };
  return (jid) => {
    const before = known.get(jid);
    if (before !== undefined) {
      known.delete(jid);
      known.set(jid, before);
      return before.found;
    }
    const entry = { found: Promise.resolve().then(() => load(jid)), targets: 0 };
    entry.found.catch(() => forget(jid));
    known.set(jid, entry);
    return entry.found;
  };
}

function knownOf({ function: name, metadata, createdBy, targets }: Job): KnownJob {
  return { function: name, metadata, createdBy, targets: new Set(targets), depth: depthOf(metadata) };
}

/** A return of a job that a reaction started is one step deeper than the event of that reaction. */
function depthOf({ reactor }: Readonly<Record<string, Plain>>): number {
  if (reactor === null || typeof reactor !== "object" || !("depth" in reactor)) return 0;
  const { depth } = reactor;
  return typeof depth === "number" && Number.isInteger(depth) && depth >= 0 ? depth + 1 : 0;
}
