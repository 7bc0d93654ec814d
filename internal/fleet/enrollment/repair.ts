import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { rejectReasons, rejectRivals } from "./joining/mod.ts";
import { liveStates } from "./record/mod.ts";
import {
  type Directory,
  type Enrollments,
  findByPeel,
  loadEnrollment,
  pointIndex,
  type Unindexed,
} from "./store/mod.ts";

/** Longer than any enrollment takes between its two writes, milliseconds. */
export const orphanAgeMs = 60_000;

export interface RepairDeps {
  enrollments: Enrollments;
  directory: Pick<Directory, "ready" | "unindexed" | "rivals" | "rivalsOf">;
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
 * Repairs orphans when the directory is ready, and then every minute. It checks the directory in memory:
 * without an orphan it sends no requests. A pending one is removed: it was never visible, and its peel enrolls
 * again automatically. A decided one had an index until others changed it: the index is restored. What waits next to
 * an enrollment that was approved is rejected.
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
    for (const peelId of new Set(deps.directory.rivals().map((rival) => rival.peelId))) {
      endRivals(deps, peelId).catch((cause) =>
        deps.log.warn("enrollments next to an approved one are not rejected yet", {
          ...{ peel_id: peelId, error: describeError(cause) },
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

/** A master died between the approval of one of several hosts and the rejection of the others. */
async function endRivals(deps: RepairDeps, peelId: string): Promise<void> {
  const approved = (await findByPeel(deps.enrollments, peelId))?.current?.record;
  if (approved === undefined || approved.state === "pending" || !liveStates.has(approved.state)) return;
  const { decidedBy: by = "" } = approved;
  await rejectRivals({ ...deps, rivals: deps.directory }, approved, {
    ...{ by, reason: rejectReasons.otherApproved },
  });
}

async function reindex({ enrollments, log }: RepairDeps, orphan: Unindexed): Promise<void> {
  const { record } = await loadEnrollment(enrollments, orphan.id);
  const found = await findByPeel(enrollments, orphan.peelId);
  const current = found?.current?.record;
  if (current?.id === orphan.id || !liveStates.has(record.state)) return;
  // Of two decided records, the one with the index is the later decision.
  if (current !== undefined && current.state !== "pending" && liveStates.has(current.state)) return;
  if (await pointIndex(enrollments, record, found?.indexRevision)) {
    const fields = { enrollment_id: record.id, peel_id: record.peelId, pointed_at: found?.id };
    log.error("the index of a peel was changed by others, and is put back", fields);
  }
}
