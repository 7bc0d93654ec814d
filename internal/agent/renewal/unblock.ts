import { EnrollmentEnded } from "../joining/mod.ts";
import { failed, inTurn, isConnected, type Keeping, recover } from "./keeping.ts";
import { mustRecover, refusedWaitMs } from "./rules.ts";

/** After an answer that only an operator changes. */
const endedPauseMs = 60 * 60_000;

/** Recovers where that helps. It never begins a second enrollment. */
export async function unblock(keeping: Keeping): Promise<void> {
  const { changes, clock, jitter, masters, obstacle, stopping } = keeping;
  if (keeping.unblocking || masters === undefined || stopping.signal.aborted) return;
  if (isConnected(keeping)) return;
  if (!needsRecovery(keeping)) {
    if (obstacle.blocked.refusals > 0) {
      unblockLater(keeping, refusedWaitMs(refusedForMs(keeping), jitter()));
    }
    return;
  }
  const waitMs = keeping.recoverNotBefore - clock.monotonic();
  if (waitMs > 0) return unblockLater(keeping, waitMs);
  keeping.unblocking = true;
  try {
    // A person may have restored the file.
    const before = changes.held?.publicKey;
    changes.reload();
    const isRestored = before !== undefined && changes.held?.publicKey !== before;
    if (!isRestored) await inTurn(keeping, () => recover(keeping));
    keeping.problem = undefined;
    keeping.recoverNotBefore = clock.monotonic() + keeping.recoveryBackoff.next();
    await keeping.link?.connection.restart();
  } catch (thrown) {
    if (stopping.signal.aborted) return;
    keeping.recoverNotBefore = clock.monotonic() + reportFailed(keeping, thrown);
    unblockLater(keeping, keeping.recoverNotBefore - clock.monotonic());
  } finally {
    keeping.unblocking = false;
  }
}

/** Logs a failed recovery. @returns how long to wait */
export function reportFailed(keeping: Keeping, thrown: unknown): number {
  const { obstacle, jitter, log } = keeping;
  const reason = failed(keeping, thrown);
  if (thrown instanceof EnrollmentEnded) {
    obstacle.report(reason, thrown.next);
    return Math.round(endedPauseMs * (1 + jitter() / 2));
  }
  const waitMs = keeping.recoveryBackoff.next();
  log.warn("credentials not recovered yet", { reason, retry_in_ms: waitMs });
  return waitMs;
}

function unblockLater(keeping: Keeping, inMs: number): void {
  keeping.lookTimer?.cancel();
  keeping.lookTimer = keeping.clock.after(Math.ceil(inMs), () => void unblock(keeping));
}

function refusedForMs({ obstacle, clock }: Keeping): number {
  const { since } = obstacle.blocked;
  return since === undefined ? 0 : clock.monotonic() - since;
}

function needsRecovery(keeping: Keeping): boolean {
  const { unusable, refusals } = keeping.obstacle.blocked;
  return mustRecover({
    ...{ unusable, refusals, refusedForMs: refusedForMs(keeping) },
    isEnded: (keeping.changes.life?.leftMs ?? 1) <= 0,
  });
}
