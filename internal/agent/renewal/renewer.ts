import { createBackoff } from "../../base/backoff.ts";
import { sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { TrustError } from "../../identity/trust/mod.ts";
import { createChanges } from "./changes.ts";
import type { PeelLink } from "./changing.ts";
import type { Life } from "./life.ts";
import { arm, onConnect, worked } from "./renew-in-time.ts";
import {
  failed,
  inTurn,
  type RenewalCounts,
  type RenewerOptions,
  type RenewerState,
  recover,
  rekey,
  renew,
} from "./renewer-state.ts";
import { reportFailed, unblock } from "./unblock.ts";

/** After a failed renewal. Each wait is up to half as long again, so that none is shorter than this. */
const pauses = { firstMs: 60_000, maxMs: 40 * 60_000 };
/** After a failed recovery: the peel is off the bus. */
const recoveryPauses = { firstMs: 10_000, maxMs: 15 * 60_000 };

/** Keeps the credentials of a peel valid: renews them in time, and recovers them when they cannot be used. */
export interface Renewer {
  /**
   * Recovers credentials, as often as it takes.
   *
   * @throws TrustError, the signal's reason
   */
  recover(): Promise<void>;
  /** From now on the credentials are renewed over this connection. */
  attach(link: PeelLink): void;
  /** Renews the credentials now. @throws SvcError with the reason */
  renew(): Promise<{ publicKey: string; expiresAt: number | undefined }>;
  /** Replaces the key of this peel. @throws SvcError with the reason */
  rekey(): Promise<{ publicKey: string; expiresAt: number | undefined }>;
  /** Whether the credentials in use permit to publish on a subject: a version before an upgrade may need fewer. */
  mayPublish(subject: string): boolean;
  readonly counts: Readonly<RenewalCounts>;
  /** The lifetime of the credentials; `undefined` without any. */
  readonly life: Life | undefined;
  /** Why the last attempt to renew or recover failed. */
  readonly problem: string | undefined;
  stop(): void;
}

export function startRenewer(options: RenewerOptions): Renewer {
  const renewer: RenewerState = {
    ...options,
    changes: createChanges(options),
    counts: { renewed: 0, recovered: 0, rekeyed: 0, refused: 0, failed: 0 },
    backoff: createBackoff(pauses),
    recoveryBackoff: createBackoff({ ...recoveryPauses, jitter: options.jitter }),
    stopping: new AbortController(),
    ...{ link: undefined, problem: undefined, drawn: undefined, timer: undefined, checkTimer: undefined },
    notBefore: Number.NEGATIVE_INFINITY,
    lackingNotBefore: Number.NEGATIVE_INFINITY,
    recoverNotBefore: Number.NEGATIVE_INFINITY,
    unblocking: false,
    turn: Promise.resolve(),
  };
  const { changes, stopping } = renewer;
  const detach = [options.obstacle.onBlocked(() => void unblock(renewer))];
  return {
    recover: () => recoverAtLast(renewer),
    attach(link) {
      renewer.link = link;
      detach.push(link.connection.onConnect(() => onConnect(renewer)));
    },
    renew: () => byHand(renewer, renew),
    rekey: () => byHand(renewer, rekey),
    mayPublish: (subject) => changes.held?.publishes.includes(subject) === true,
    counts: renewer.counts,
    get life() {
      return changes.life;
    },
    get problem() {
      return renewer.problem;
    },
    stop() {
      stopping.abort(new SvcError("unavailable", "the peel stops"));
      renewer.timer?.cancel();
      renewer.checkTimer?.cancel();
      for (const run of detach) run();
    },
  };
}

/** Recovers as often as it takes. @throws TrustError, the reason of the signal */
async function recoverAtLast(renewer: RenewerState): Promise<void> {
  for (;;) {
    try {
      return await inTurn(renewer, () => recover(renewer));
    } catch (thrown) {
      renewer.stopping.signal.throwIfAborted();
      renewer.signal.throwIfAborted();
      if (thrown instanceof TrustError) throw thrown;
      await sleep(renewer.clock, reportFailed(renewer, thrown), renewer.signal);
    }
  }
}

/** An operator asked for it, who gets the reason when it fails. */
async function byHand(renewer: RenewerState, run: (renewer: RenewerState) => Promise<void>) {
  try {
    await inTurn(renewer, () => run(renewer));
    worked(renewer);
  } catch (thrown) {
    failed(renewer, thrown);
    throw thrown;
  } finally {
    arm(renewer);
  }
  return { publicKey: renewer.keys.current().publicKey, expiresAt: renewer.changes.held?.expiresAt };
}
