import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Directory, Unindexed } from "./directory.ts";
import { type Enrollments, findByPeel, loadEnrollment, pointIndex } from "./store.ts";
import { liveStates } from "./transition.ts";

/** Longer than any enrollment takes between its two writes, milliseconds. */
export const orphanAgeMs = 60_000;

export interface RepairDeps {
  enrollments: Enrollments;
  directory: Pick<Directory, "ready" | "unindexed">;
  clock: Clock;
  log: Log;
}

/**
 * The records that a master which died between its two writes left behind: live, old enough not to be
 * under way, and no index points at them.
 *
 * @param now milliseconds since the Unix epoch
 */
export function findOrphans(unindexed: readonly Unindexed[], now: number): Unindexed[] {
  return unindexed.filter(({ createdAt }) => now - createdAt > orphanAgeMs);
}

/**
 * Removes orphans that nobody has decided on, and puts the index of the others back, when the directory is ready, and every minute those that were noticed later. What is
 * looked at is in memory: without an orphan the bus is not asked. Nobody ever saw a pending one, and its peel
 * enrolls again by itself. What was decided had its index until somebody else changed that.
 */
export function repairOrphans(deps: RepairDeps): { stop(): void } {
  const sweep = () => {
    for (const orphan of findOrphans(deps.directory.unindexed(), deps.clock.now())) {
      const repair = orphan.state === "pending" ? remove : reindex;
      repair(deps, orphan).catch((cause) =>
        deps.log.warn("orphaned enrollment record not repaired", {
          enrollment_id: orphan.id,
          error: describeError(cause),
        }),
      );
    }
  };
  deps.directory.ready.then(sweep).catch(() => {
    // The directory tells its own failure.
  });
  const timer = deps.clock.every(orphanAgeMs, sweep);
  return { stop: () => timer.cancel() };
}

async function remove({ enrollments, log }: RepairDeps, orphan: Unindexed): Promise<void> {
  // The directory may lag; what is stored decides.
  const found = await findByPeel(enrollments, orphan.peelId);
  if (found?.current?.record.id === orphan.id) return;
  if (await enrollments.remove(orphan.id, orphan.revision)) {
    log.warn("orphaned enrollment record removed", { enrollment_id: orphan.id, peel_id: orphan.peelId });
  }
}

async function reindex({ enrollments, log }: RepairDeps, orphan: Unindexed): Promise<void> {
  const { record } = await loadEnrollment(enrollments, orphan.id);
  const found = await findByPeel(enrollments, orphan.peelId);
  const current = found?.current?.record;
  if (current?.id === orphan.id || !liveStates.has(record.state)) return;
  // Of two that were decided, the one that has the index now is the later decision.
  if (current !== undefined && current.state !== "pending" && liveStates.has(current.state)) return;
  if (await pointIndex(enrollments, record, found?.indexRevision)) {
    const fields = { enrollment_id: record.id, peel_id: record.peelId, pointed_at: found?.id };
    log.error("the index of a peel was changed by others, and is put back", fields);
  }
}
