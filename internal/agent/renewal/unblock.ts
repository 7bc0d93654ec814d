import { EnrollmentEnded } from "../joining/mod.ts";
import { failed, inTurn, isConnected, type RenewerState, recover } from "./renewer-state.ts";
import { mustRecover, refusedWaitMs } from "./rules.ts";

/** After an answer that only an operator changes. */
const endedPauseMs = 60 * 60_000;

/** Recovers where that helps. It never begins a second enrollment. */
export async function unblock(renewer: RenewerState): Promise<void> {
  const { changes, clock, jitter, masters, obstacle, stopping } = renewer;
  if (renewer.unblocking || masters === undefined || stopping.signal.aborted) return;
  if (isConnected(renewer)) return;
  if (!needsRecovery(renewer)) {
    if (obstacle.blocked.refusals > 0) {
      unblockLater(renewer, refusedWaitMs(refusedForMs(renewer), jitter()));
    }
    return;
  }
  const waitMs = renewer.recoverNotBefore - clock.monotonic();
  if (waitMs > 0) return unblockLater(renewer, waitMs);
  renewer.unblocking = true;
  try {
    // A person may have restored the file.
    const before = changes.held?.publicKey;
    changes.reload();
    const isRestored = before !== undefined && changes.held?.publicKey !== before;
    if (!isRestored) await inTurn(renewer, () => recover(renewer));
    renewer.problem = undefined;
    renewer.recoverNotBefore = clock.monotonic() + renewer.recoveryBackoff.next();
    await renewer.link?.connection.restart();
  } catch (thrown) {
    if (stopping.signal.aborted) return;
    renewer.recoverNotBefore = clock.monotonic() + reportFailed(renewer, thrown);
    unblockLater(renewer, renewer.recoverNotBefore - clock.monotonic());
  } finally {
    renewer.unblocking = false;
  }
}

/** Logs a failed recovery. @returns how long to wait */
export function reportFailed(renewer: RenewerState, thrown: unknown): number {
  const { obstacle, jitter, log } = renewer;
  const reason = failed(renewer, thrown);
  if (thrown instanceof EnrollmentEnded) {
    obstacle.report(reason, thrown.next);
    return Math.round(endedPauseMs * (1 + jitter() / 2));
  }
  const waitMs = renewer.recoveryBackoff.next();
  log.warn("credentials not recovered yet", { reason, retry_in_ms: waitMs });
  return waitMs;
}

function unblockLater(renewer: RenewerState, inMs: number): void {
  renewer.checkTimer?.cancel();
  renewer.checkTimer = renewer.clock.after(Math.ceil(inMs), () => void unblock(renewer));
}

function refusedForMs({ obstacle, clock }: RenewerState): number {
  const { since } = obstacle.blocked;
  return since === undefined ? 0 : clock.monotonic() - since;
}

function needsRecovery(renewer: RenewerState): boolean {
  const { unusable, refusals } = renewer.obstacle.blocked;
  return mustRecover({
    ...{ unusable, refusals, refusedForMs: refusedForMs(renewer) },
    isEnded: (renewer.changes.life?.leftMs ?? 1) <= 0,
  });
}
