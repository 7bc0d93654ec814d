import { RenewalRefused } from "../../wire/renewal.ts";
import { EnrollmentEnded } from "../joining/mod.ts";
import type { Life } from "./life.ts";
import { failed, inTurn, isConnected, type RenewerState, rekey, renew } from "./renewer-state.ts";
import { lateSpreadMs, renewAfterMs } from "./rules.ts";
import { isForNow } from "./send-renewal.ts";

/** A timer cannot wait for longer than 24 days, and the clock of a host may be set meanwhile. */
const maxWaitMs = 60 * 60_000;
/** Between two renewals, whatever the lifetime and the clock of the host are. */
const gap = { minMs: 10_000, maxMs: 10 * 60_000 };
/** Between two renewals for what credentials lack: the masters may not be upgraded yet, and issue no others. */
const lackingPauseMs = 24 * 60 * 60_000;

/** Waits until the next renewal is due. The next connection does it again. */
export function arm(renewer: RenewerState): void {
  const { changes, clock, stopping } = renewer;
  renewer.timer?.cancel();
  const { life } = changes;
  if (stopping.signal.aborted || life === undefined || !isConnected(renewer)) return;
  const untilDue = due(renewer) === undefined ? renewAfter(renewer, life) - life.elapsedMs : 0;
  const waitMs = Math.max(untilDue, renewer.notBefore - clock.monotonic(), 0);
  renewer.timer = clock.after(Math.ceil(Math.min(waitMs, maxWaitMs)), () => void check(renewer));
}

/** A step succeeded: none follows at once. */
export function worked(renewer: RenewerState): void {
  renewer.problem = undefined;
  renewer.backoff.reset();
  const lengthMs = renewer.changes.life?.lengthMs ?? 0;
  renewer.notBefore = renewer.clock.monotonic() + Math.min(Math.max(lengthMs / 4, gap.minMs), gap.maxMs);
}

/** The peel is connected: what is late is done soon, spread over the fleet. */
export function onConnect(renewer: RenewerState): void {
  const { changes, clock, jitter } = renewer;
  renewer.recoveryBackoff.reset();
  renewer.recoverNotBefore = Number.NEGATIVE_INFINITY;
  changes.reload();
  const { life } = changes;
  if (life !== undefined && due(renewer) !== undefined) {
    const lateMs = jitter() * lateSpreadMs(life.lengthMs);
    renewer.notBefore = Math.max(renewer.notBefore, clock.monotonic() + lateMs);
  }
  arm(renewer);
}

/** Renews what is due, and waits for what will be. */
async function check(renewer: RenewerState): Promise<void> {
  const { clock, jitter, log } = renewer;
  const isLater = !isConnected(renewer) || clock.monotonic() < renewer.notBefore;
  const act = isLater ? undefined : due(renewer);
  if (act !== undefined) {
    try {
      await inTurn(renewer, () => act(renewer));
      worked(renewer);
    } catch (thrown) {
      if (renewer.stopping.signal.aborted) return;
      const reason = failed(renewer, thrown);
      const waitMs = Math.round(renewer.backoff.next() * (1 + jitter() / 2));
      renewer.notBefore = clock.monotonic() + waitMs;
      log[isForNow(thrown) ? "warn" : "error"]("credentials not renewed yet", {
        reason,
        ...nextOf(thrown),
        retry_in_ms: waitMs,
      });
    }
  }
  arm(renewer);
}

/** What must be done now; `undefined` while nothing is due. */
function due(renewer: RenewerState): ((renewer: RenewerState) => Promise<void>) | undefined {
  const { life, undone } = renewer.changes;
  if (undone !== undefined) return undone === "rekey" ? rekey : renew;
  if (life === undefined) return undefined;
  if (life.elapsedMs >= renewAfter(renewer, life)) return renew;
  return isLacking(renewer) ? renewLacking : undefined;
}

function renewAfter(renewer: RenewerState, life: Life): number {
  const publicKey = renewer.changes.held?.publicKey;
  if (renewer.drawn === undefined || renewer.drawn.publicKey !== publicKey) {
    renewer.drawn = { publicKey, chance: renewer.jitter() };
  }
  return renewAfterMs(life.lengthMs, renewer.drawn.chance);
}

/** Whether the credentials permit less than this version needs. Without a list they permit everything. */
function isLacking({ changes, publishes: needed, clock, lackingNotBefore }: RenewerState): boolean {
  const { publishes = [] } = changes.held ?? {};
  const lacks = publishes.length > 0 && needed?.every((one) => publishes.includes(one)) === false;
  return lacks && clock.monotonic() >= lackingNotBefore;
}

function renewLacking(renewer: RenewerState): Promise<void> {
  renewer.lackingNotBefore = renewer.clock.monotonic() + lackingPauseMs;
  renewer.log.info("credentials are renewed early: they do not permit all that this version does");
  return renew(renewer);
}

function nextOf(thrown: unknown): { next?: string } {
  if (thrown instanceof EnrollmentEnded) return { next: thrown.next };
  if (!(thrown instanceof RenewalRefused)) return {};
  switch (thrown.code) {
    case "clone_suspected":
      return {
        next: "another host has a copy of this peel's data directory: find it, and run svc enroll revoke on the enrollment and enroll the right one again, or svc enroll clear-clone",
      };
    case "unauthorized":
      return { next: "set the clock of this host right" };
    default:
      return { next: "see svc enroll list --state all" };
  }
}
