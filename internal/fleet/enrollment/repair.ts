import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import type { Directory, Unindexed } from "./directory.ts";
import { findByPeel } from "./store.ts";

/** Longer than any enrollment takes between its two writes, milliseconds. */
export const orphanAgeMs = 60_000;

export interface RepairDeps {
  enrollments: Bucket;
  directory: Pick<Directory, "ready" | "unindexed">;
  clock: Clock;
  log: Log;
}

/**
 * Records of masters that died between their two writes: live, too old to be in progress, and without an
 * index.
 *
 * @param now milliseconds since the Unix epoch
 */
export function findOrphans(unindexed: readonly Unindexed[], now: number): Unindexed[] {
  return unindexed.filter(({ createdAt }) => now - createdAt > orphanAgeMs);
}

/**
 * Removes orphans when the directory is ready, and then every minute. It checks the directory in memory:
 * without an orphan it sends no requests. Such a record was never visible, and its peel enrolls again
 * automatically.
 */
export function repairOrphans(deps: RepairDeps): { stop(): void } {
  const sweep = () => {
    for (const orphan of findOrphans(deps.directory.unindexed(), deps.clock.now())) {
      remove(deps, orphan).catch((cause) =>
        deps.log.warn("orphaned enrollment record not removed", {
          enrollment_id: orphan.id,
          error: describeError(cause),
        }),
      );
    }
  };
  deps.directory.ready.then(sweep).catch(() => {
    // The directory reports its own failure.
  });
  const timer = deps.clock.every(orphanAgeMs, sweep);
  return { stop: () => timer.cancel() };
}

async function remove({ enrollments, log }: RepairDeps, orphan: Unindexed): Promise<void> {
  // The directory may lag behind; storage decides.
  const found = await findByPeel(enrollments, orphan.peelId);
  if (found?.current?.record.id === orphan.id) return;
  if (await enrollments.remove(orphan.id, orphan.revision)) {
    log.warn("orphaned enrollment record removed", { enrollment_id: orphan.id, peel_id: orphan.peelId });
  }
}
