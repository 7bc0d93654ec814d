import { RenewalRefused } from "../../wire/renewal.ts";
import { EnrollmentEnded } from "../joining/mod.ts";
import { failed, inTurn, isConnected, type Keeping, rekey, renew } from "./keeping.ts";
import type { Life } from "./life.ts";
import { lateSpreadMs, renewAfterMs } from "./rules.ts";
import { isForNow } from "./send-renewal.ts";

/** A timer cannot wait for longer than 24 days, and the clock of a host may be set meanwhile. */
const maxWaitMs = 60 * 60_000;
/** Between two renewals, whatever the lifetime and the clock of the host are. */
const gap = { minMs: 10_000, maxMs: 10 * 60_000 };
/** Between two renewals for what credentials lack: the masters may not be upgraded yet, and issue no others. */
const lackingPauseMs = 24 * 60 * 60_000;

/** Waits until the next renewal is due. The next connection does it again. */
export function arm(keeping: Keeping): void {
  const { changes, clock, stopping } = keeping;
  keeping.timer?.cancel();
  const { life } = changes;
  if (stopping.signal.aborted || life === undefined || !isConnected(keeping)) return;
  const untilDue = due(keeping) === undefined ? renewAfter(keeping, life) - life.elapsedMs : 0;
  const waitMs = Math.max(untilDue, keeping.notBefore - clock.monotonic(), 0);
  keeping.timer = clock.after(Math.ceil(Math.min(waitMs, maxWaitMs)), () => void look(keeping));
}

/** A step succeeded: none follows at once. */
export function worked(keeping: Keeping): void {
  keeping.problem = undefined;
  keeping.backoff.reset();
  const lengthMs = keeping.changes.life?.lengthMs ?? 0;
  keeping.notBefore = keeping.clock.monotonic() + Math.min(Math.max(lengthMs / 4, gap.minMs), gap.maxMs);
}

/** The peel is connected: what is late is done soon, spread over the fleet. */
export function onConnect(keeping: Keeping): void {
  const { changes, clock, jitter } = keeping;
  keeping.recoveryBackoff.reset();
  keeping.recoverNotBefore = Number.NEGATIVE_INFINITY;
  changes.reload();
  const { life } = changes;
  if (life !== undefined && due(keeping) !== undefined) {
    const lateMs = jitter() * lateSpreadMs(life.lengthMs);
    keeping.notBefore = Math.max(keeping.notBefore, clock.monotonic() + lateMs);
  }
  arm(keeping);
}

/** Renews what is due, and waits for what will be. */
async function look(keeping: Keeping): Promise<void> {
  const { clock, jitter, log } = keeping;
  const isLater = !isConnected(keeping) || clock.monotonic() < keeping.notBefore;
  const act = isLater ? undefined : due(keeping);
  if (act !== undefined) {
    try {
      await inTurn(keeping, () => act(keeping));
      worked(keeping);
    } catch (thrown) {
      if (keeping.stopping.signal.aborted) return;
      const reason = failed(keeping, thrown);
      const waitMs = Math.round(keeping.backoff.next() * (1 + jitter() / 2));
      keeping.notBefore = clock.monotonic() + waitMs;
      log[isForNow(thrown) ? "warn" : "error"]("credentials not renewed yet", {
        reason,
        ...nextOf(thrown),
        retry_in_ms: waitMs,
      });
    }
  }
  arm(keeping);
}

/** What must be done now; `undefined` while nothing is due. */
function due(keeping: Keeping): ((keeping: Keeping) => Promise<void>) | undefined {
  const { life, undone } = keeping.changes;
  if (undone !== undefined) return undone === "rekey" ? rekey : renew;
  if (life === undefined) return undefined;
  if (life.elapsedMs >= renewAfter(keeping, life)) return renew;
  return isLacking(keeping) ? renewLacking : undefined;
}

function renewAfter(keeping: Keeping, life: Life): number {
  const publicKey = keeping.changes.held?.publicKey;
  if (keeping.drawn === undefined || keeping.drawn.publicKey !== publicKey) {
    keeping.drawn = { publicKey, chance: keeping.jitter() };
  }
  return renewAfterMs(life.lengthMs, keeping.drawn.chance);
}

/** Whether the credentials permit less than this version needs. Without a list they permit everything. */
function isLacking({ changes, publishes: needed, clock, lackingNotBefore }: Keeping): boolean {
  const { publishes = [] } = changes.held ?? {};
  const lacks = publishes.length > 0 && needed?.every((one) => publishes.includes(one)) === false;
  return lacks && clock.monotonic() >= lackingNotBefore;
}

function renewLacking(keeping: Keeping): Promise<void> {
  keeping.lackingNotBefore = keeping.clock.monotonic() + lackingPauseMs;
  keeping.log.info("credentials are renewed early: they do not permit all that this version does");
  return renew(keeping);
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
