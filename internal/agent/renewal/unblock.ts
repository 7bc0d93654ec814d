import { EnrollmentEnded, EnrollmentSuspended } from "../joining/mod.ts";
import { failed, inTurn, isConnected, type RenewerState, recover } from "./renewer-state.ts";
import { mustRecover, refusedWaitMs } from "./rules.ts";

/** After an answer that only an operator changes. */
const endedPauseMs = 60 * 60_000;
/** While masters refuse credentials to a peel whose record is alive. */
const refusedPauseMs = 5 * 60_000;
/** Before that: a peel that is resumed within a minute is back at once. */
const graceMs = 60_000;
/** After the bus was to be asked again: it comes first, and a peel that was resumed has its credentials still. */
const afterBusMs = 60_000;

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
    const pauseMs = reportFailed(renewer, thrown);
    renewer.recoverNotBefore = clock.monotonic() + pauseMs;
    unblockLater(
      renewer,
      obstacle.isHalted && thrown instanceof EnrollmentSuspended ? pauseMs + afterBusMs : pauseMs,
    );
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
    obstacle.halt(thrown.isOver ? Number.POSITIVE_INFINITY : refusedMs(jitter()));
    return Math.round(endedPauseMs * (1 + jitter() / 2));
  }
  if (thrown instanceof EnrollmentSuspended) {
    const leftMs = graceMs - refusedForMs(renewer);
    const pauseMs = leftMs > 0 ? leftMs : refusedMs(jitter());
    if (leftMs <= 0) obstacle.halt(pauseMs);
    log.warn("credentials not recovered yet", { reason, retry_in_ms: pauseMs });
    return pauseMs;
  }
  obstacle.endHalt();
  const waitMs = renewer.recoveryBackoff.next();
  log.warn("credentials not recovered yet", { reason, retry_in_ms: waitMs });
  return waitMs;
}

/** Spread over a minute. @param chance in [0, 1) */
const refusedMs = (chance: number): number => Math.round(refusedPauseMs * (1 + chance / 5));

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
