import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { decode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type Bucket, openBlobStore, openBucket } from "../../bus/storage/mod.ts";
import { serveRoom } from "../../doors/bus/mod.ts";
import { binaryOperations, openBinaries } from "../../fleet/binaries/mod.ts";
import type { JobController } from "../../fleet/jobs/mod.ts";
import type { Gate } from "../../fleet/operation/mod.ts";
import type { OperatorBudgets, RequestJudge } from "../../fleet/requests/mod.ts";
import { type BlobCache, createBlobCache } from "../../tree/publication/mod.ts";

/** Bytes of binaries that a master keeps in memory for requests of peels: enough for more than one binary. */
const cacheBytes = 160 * 1024 * 1024;
const collectMs = 10 * 60_000;
/** Number of running jobs to check for binaries that they need. */
const maxJobs = 50_000;
const upgradeFunction = "upgrade.apply";
/** The common fields of jobs and rollouts, also of other versions. */
const upgradeCall = v.object({
  function: v.literal(upgradeFunction),
  args: v.object({ manifest: v.string() }),
  finished_at: v.optional(v.string()),
});

/** Binaries for peels on a master: uploaded by operators, and kept as long as they are needed. */
export interface MasterBinaries {
  /** The binaries that peels fetch. */
  cache: BlobCache;
  stop(): void;
}

export interface MasterBinariesOptions {
  bus: Bus;
  /** Of this master. */
  name: string;
  /** Verifies signed uploads. */
  requests?: RequestJudge;
  budgets: OperatorBudgets;
  /** The bucket `jobs`. */
  jobs: Bucket;
  controller: Pick<JobController, "list">;
  gate?: Gate;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/** Serves uploads, and removes unused binaries every ten minutes. */
export async function startBinaries(options: MasterBinariesOptions): Promise<MasterBinaries> {
  const { bus, name, gate, requests, budgets, clock, jitter, log } = options;
  const store = openBlobStore(bus, "binaries");
  const rollouts = await openBucket(bus, "rollouts");
  const binaries = openBinaries({ store, named: () => namedBinaries(options, rollouts), clock, jitter, log });
  const door = { bus, master: name, budgets, clock, log, ...defined({ gate, requests }) };
  serveRoom(door, binaryOperations, binaries);
  let timer: { cancel(): void } | undefined;
  let stopped = false;
  const schedule = () => {
    if (stopped) return;
    timer = clock.after(Math.round(collectMs * (0.75 + jitter() / 2)), () => {
      binaries
        .collect()
        .catch((thrown) => log.warn("binaries were not tidied", { reason: describeError(thrown) }))
        .then(schedule);
    });
  };
  schedule();
  return {
    cache: createBlobCache(store, cacheBytes),
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}

/** Digests of the manifests that unfinished rollouts and jobs reference. */
async function namedBinaries(
  { jobs, controller }: Pick<MasterBinariesOptions, "jobs" | "controller">,
  rollouts: Bucket,
): Promise<Set<string>> {
  const named = new Set<string>();
  const add = (record: Uint8Array) => {
    const parsed = v.safeParse(upgradeCall, decode(record));
    if (parsed.success && parsed.output.finished_at === undefined) named.add(parsed.output.args.manifest);
  };
  // The frozen lists and the places in the bucket of rollouts are not calls.
  for (const { key, value } of await rollouts.entries()) if (isId("rol", key)) add(value);
  const listed = await controller.list({ limit: maxJobs, status: "running" });
  for (const { jid, ...summary } of listed.jobs) {
    if (summary.function !== upgradeFunction) continue;
    const entry = await jobs.get(jid);
    if (entry !== undefined) add(entry.value);
  }
  return named;
}
