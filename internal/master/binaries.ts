import { serveBinaries } from "../admin/binary.ts";
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { openBlobStore } from "../bus/blob-store.ts";
import { type Bucket, openBucket } from "../bus/bucket.ts";
import type { Bus } from "../bus/connect.ts";
import type { Board } from "../jobs/board.ts";
import { decodeJob } from "../jobs/record.ts";
import { decodeRollout } from "../rollout/record.ts";
import { type BlobCache, createBlobCache } from "../states/blob-cache.ts";
import { openBinaries } from "../upgrade/binaries.ts";

/** Bytes of binaries that a master keeps in memory for peels that ask: one of them, with room to spare. */
const cacheBytes = 160 * 1024 * 1024;
const collectMs = 10 * 60_000;
/** Running jobs that are looked at for what they need. */
const maxJobs = 50_000;
const upgradeFunction = "upgrade.apply";

/** Binaries for peels on a master: taken from operators, kept as long as they are needed. */
export interface MasterBinaries {
  /** What peels fetch. */
  cache: BlobCache;
  stop(): void;
}

export interface MasterBinariesOptions {
  bus: Bus;
  /** The bucket `jobs`. */
  jobs: Bucket;
  board: Pick<Board, "list">;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/** Serves uploads, and removes every ten minutes what nothing needs any more. */
export async function startBinaries(options: MasterBinariesOptions): Promise<MasterBinaries> {
  const { bus, clock, jitter, log } = options;
  const store = openBlobStore(bus, "binaries");
  const rollouts = await openBucket(bus, "rollouts");
  const binaries = openBinaries({ store, named: () => namedBinaries(options, rollouts), clock, log });
  serveBinaries({ bus, binaries, log });
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

/** Digests of the manifests that rollouts and jobs name which have not ended. */
async function namedBinaries(
  { jobs, board }: Pick<MasterBinariesOptions, "jobs" | "board">,
  rollouts: Bucket,
): Promise<Set<string>> {
  const named = new Set<string>();
  const add = (call: { function: string; args: Readonly<Record<string, unknown>> }) => {
    if (call.function === upgradeFunction) named.add(String(call.args.manifest));
  };
  for (const { key, value } of await rollouts.entries()) {
    // Beside each record stands the list of its peels.
    if (key.includes(".")) continue;
    const rollout = decodeRollout(value);
    if (rollout.finishedAt === undefined) add(rollout);
  }
  for (const { jid, ...summary } of await board.list({ limit: maxJobs, status: "running" })) {
    if (summary.function !== upgradeFunction) continue;
    const entry = await jobs.get(jid);
    if (entry !== undefined) add(decodeJob(entry.value));
  }
  return named;
}
