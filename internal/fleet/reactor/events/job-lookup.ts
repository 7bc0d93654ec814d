import { createBoundedMap } from "../../../base/bounded-map.ts";
import type { Plain } from "../../../base/msgpack.ts";
import type { Bucket } from "../../../bus/storage/mod.ts";
import { decodeJob, type Job } from "../../jobs/records/mod.ts";

/** Targets of all jobs that are remembered; one job may have 100,000 of them. */
const maxTargets = 400_000;
/** The cost of a job in addition to its targets, in targets. */
const jobWeight = 200;

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
  const known = createBoundedMap<Promise<KnownJob | undefined>>(maxTargets);
  const load = async (jid: string): Promise<KnownJob | undefined> => {
    const stored = await jobs.get(jid);
    return stored && knownOf(decodeJob(stored.value));
  };
  return (jid) => {
    const before = known.get(jid);
    if (before !== undefined) return before;
    const found = known.set(jid, load(jid), jobWeight);
    found.then(
      (job) => {
        if (job === undefined) known.delete(jid);
        else known.set(jid, found, jobWeight + job.targets.size);
      },
      () => known.delete(jid),
    );
    return found;
  };
}

function knownOf({ function: name, metadata, createdBy, targets }: Job): KnownJob {
  return { function: name, metadata, createdBy, targets: new Set(targets), depth: depthOf(metadata) };
}

/** The depth of what a job leads to: a return of a job that a reaction started is one step deeper than the event of that reaction. */
export function depthOf({ reactor }: Readonly<Record<string, Plain>>): number {
  if (reactor === null || typeof reactor !== "object" || !("depth" in reactor)) return 0;
  const { depth } = reactor;
  return typeof depth === "number" && Number.isInteger(depth) && depth >= 0 ? depth + 1 : 0;
}
