import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Directory, type Enrollments, removePending } from "./store/mod.ts";

const sweepMs = 10 * 60_000;

export interface DropPendingDeps {
  enrollments: Enrollments;
  directory: Pick<Directory, "ready" | "pendingBefore">;
  /** How long an enrollment may be pending, milliseconds. */
  ttlMs: number;
  /** Nothing is removed while the clock may be wrong. */
  mayPrune(): boolean;
  clock: Clock;
  log: Log;
}

/**
 * Removes enrollments that have been pending for too long, when the directory is ready and every ten minutes. A
 * peel that still waits enrolls again by itself. Several masters may do it at once: each removal names the
 * revision that was read, so that it never meets a decision.
 */
export function dropOldPending(deps: DropPendingDeps): { stop(): void } {
  const { enrollments, directory, ttlMs, mayPrune, clock, log } = deps;
  let running = false;
  const sweep = async () => {
    const before = clock.now() - ttlMs;
    let dropped = 0;
    try {
      for (const { id, peelId } of directory.pendingBefore(before)) {
        if (!(await removePending(enrollments, id, before))) continue;
        dropped++;
        log.debug("pending enrollment dropped", { enrollment_id: id, peel_id: peelId });
      }
    } catch (cause) {
      log.warn("old pending enrollments not dropped", { error: describeError(cause) });
    }
    if (dropped > 0) log.info("old pending enrollments dropped", { dropped });
  };
  const sweepOnce = () => {
    if (running || !mayPrune()) return;
    running = true;
    void sweep().finally(() => {
      running = false;
    });
  };
  directory.ready.then(sweepOnce).catch(() => {
    // The directory reports its own failure.
  });
  const timer = clock.every(sweepMs, sweepOnce);
  return { stop: () => timer.cancel() };
}
