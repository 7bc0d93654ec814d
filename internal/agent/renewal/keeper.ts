import { createBackoff } from "../../base/backoff.ts";
import { rfc3339, sleep, type Timer } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { TrustError } from "../../identity/trust/mod.ts";
import { EnrollmentEnded } from "../joining/mod.ts";
import type { Obstacle } from "../link/mod.ts";
import { isForNow, RenewalRefused } from "./ask-masters.ts";
import { type ChangeOptions, createChanges, type PeelLink } from "./changes.ts";
import type { Life } from "./life.ts";
import { lateSpreadMs, mustRecover, refusedWaitMs, renewAfterMs } from "./rules.ts";

/** A timer cannot wait for longer than 24 days, and the clock of a host may be set meanwhile. */
const mostWaitMs = 60 * 60_000;
/** After a failed renewal. Each wait is up to half as long again, so that none is shorter than this. */
const pauses = { firstMs: 60_000, longestMs: 40 * 60_000 };
/** After a failed recovery: the peel is off the bus. */
const recoveryPauses = { firstMs: 10_000, longestMs: 15 * 60_000 };
/** After an answer that only an operator changes. */
const endedPauseMs = 60 * 60_000;
/** Between two renewals, whatever the lifetime and the clock of the host are. */
const gap = { leastMs: 10_000, mostMs: 10 * 60_000 };
/** Between two renewals for what credentials lack: the masters may not be upgraded yet, and issue no others. */
const lackingPauseMs = 24 * 60 * 60_000;

/** How often the credentials were renewed and recovered since the start, and how often that failed. */
export type RenewalCounts = Record<"renewed" | "recovered" | "rekeyed" | "refused" | "failed", number>;

export interface KeeperOptions extends ChangeOptions {
  obstacle: Pick<Obstacle, "blocked" | "onBlocked" | "tell" | "clear">;
  /** What this version publishes on: credentials that lack it are renewed before their time. */
  publishes?: readonly string[];
  /** A number in [0, 1). */
  jitter: () => number;
  signal: AbortSignal;
}

/** Keeps the credentials of a peel valid: renews them in time, and recovers them when they cannot be used. */
export interface Keeper {
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

export function startKeeper(options: KeeperOptions): Keeper {
  const { keys, masters, obstacle, clock, jitter, log } = options;
  const changes = createChanges(options);
  const counts: RenewalCounts = { renewed: 0, recovered: 0, rekeyed: 0, refused: 0, failed: 0 };
  const backoff = createBackoff(pauses);
  const recoveryBackoff = createBackoff({ ...recoveryPauses, jitter });
  const stopping = new AbortController();
  const detach: (() => void)[] = [];
  let link: PeelLink | undefined;
  /** Drawn for each issue, so that a fleet that enrolled together does not renew together. */
  let drawn: { publicKey: string | undefined; chance: number } | undefined;
  let problem: string | undefined;
  let timer: Timer | undefined;
  /** No attempt is made before this moment of the monotonic clock. */
  let notBefore = Number.NEGATIVE_INFINITY;
  let recoverNotBefore = Number.NEGATIVE_INFINITY;
  let lackingNotBefore = Number.NEGATIVE_INFINITY;
  let turn: Promise<unknown> = Promise.resolve();

  /** One at a time: each step reads what the one before wrote. */
  const inTurn = <Result>(run: () => Promise<Result>): Promise<Result> => {
    const mine = turn.then(() => {
      stopping.signal.throwIfAborted();
      return run();
    });
    turn = mine.catch(() => {});
    return mine;
  };

  const failed = (thrown: unknown): string => {
    problem = describeError(thrown);
    const isRefused = thrown instanceof RenewalRefused || thrown instanceof EnrollmentEnded;
    counts[isRefused && !isForNow(thrown) ? "refused" : "failed"]++;
    return problem;
  };
  const worked = () => {
    problem = undefined;
    backoff.reset();
    const lengthMs = changes.life?.lengthMs ?? 0;
    notBefore = clock.monotonic() + Math.min(Math.max(lengthMs / 4, gap.leastMs), gap.mostMs);
  };
  const renew = async () => {
    await changes.renew(link);
    counts.renewed++;
    log.info("credentials renewed", told());
  };
  const rekey = async () => {
    await changes.rekey(link);
    counts.rekeyed++;
    log.info("credentials renewed", told());
  };
  const recover = async () => {
    await changes.recover();
    obstacle.clear();
    counts.recovered++;
    log.info("credentials recovered", told());
  };
  const told = () => {
    const { publicKey, expiresAt } = changes.held ?? {};
    return { public_key: publicKey, expires_at: expiresAt === undefined ? undefined : rfc3339(expiresAt) };
  };

  const renewAfter = (life: Life): number => {
    const { publicKey } = changes.held ?? {};
    if (drawn === undefined || drawn.publicKey !== publicKey) drawn = { publicKey, chance: jitter() };
    return renewAfterMs(life.lengthMs, drawn.chance);
  };
  /** Whether the credentials permit less than this version needs. Without a list they permit everything. */
  const isLacking = () => {
    const { publishes = [] } = changes.held ?? {};
    const lacks =
      publishes.length > 0 && options.publishes?.every((one) => publishes.includes(one)) === false;
    return lacks && clock.monotonic() >= lackingNotBefore;
  };
  const renewLacking = () => {
    lackingNotBefore = clock.monotonic() + lackingPauseMs;
    log.info("credentials are renewed early: they do not permit all that this version does");
    return renew();
  };
  /** What must be done now; `undefined` while nothing is due. */
  const due = (): (() => Promise<void>) | undefined => {
    const { life, undone } = changes;
    if (undone !== undefined) return undone === "rekey" ? rekey : renew;
    if (life === undefined) return undefined;
    if (life.elapsedMs >= renewAfter(life)) return renew;
    return isLacking() ? renewLacking : undefined;
  };
  const isConnected = () => link?.connection.connected === true;
  const arm = () => {
    timer?.cancel();
    const { life } = changes;
    // The next connection arms it again.
    if (stopping.signal.aborted || life === undefined || !isConnected()) return;
    const untilDue = due() === undefined ? renewAfter(life) - life.elapsedMs : 0;
    const waitMs = Math.max(untilDue, notBefore - clock.monotonic(), 0);
    timer = clock.after(Math.ceil(Math.min(waitMs, mostWaitMs)), () => void look());
  };
  const look = async () => {
    const act = !isConnected() || clock.monotonic() < notBefore ? undefined : due();
    if (act !== undefined) {
      try {
        await inTurn(act);
        worked();
      } catch (thrown) {
        if (stopping.signal.aborted) return;
        const reason = failed(thrown);
        const waitMs = Math.round(backoff.next() * (1 + jitter() / 2));
        notBefore = clock.monotonic() + waitMs;
        log[isForNow(thrown) ? "warn" : "error"]("credentials not renewed yet", {
          reason,
          ...nextOf(thrown),
          retry_in_ms: waitMs,
        });
      }
    }
    arm();
  };

  /** The peel is connected: what is late is done soon, spread over the fleet. */
  const onConnect = () => {
    recoveryBackoff.reset();
    recoverNotBefore = Number.NEGATIVE_INFINITY;
    changes.reload();
    const { life } = changes;
    if (life !== undefined && due() !== undefined) {
      notBefore = Math.max(notBefore, clock.monotonic() + jitter() * lateSpreadMs(life.lengthMs));
    }
    arm();
  };

  let unblocking = false;
  let again: Timer | undefined;
  const unblockLater = (inMs: number) => {
    again?.cancel();
    again = clock.after(Math.ceil(inMs), () => void unblock());
  };
  const refusedForMs = () => {
    const { since } = obstacle.blocked;
    return since === undefined ? 0 : clock.monotonic() - since;
  };
  const needsRecovery = () => {
    const { unusable, refusals } = obstacle.blocked;
    return mustRecover({
      unusable,
      refusals,
      refusedForMs: refusedForMs(),
      isEnded: (changes.life?.leftMs ?? 1) <= 0,
    });
  };
  /** Recovers where that helps. It never begins a second enrollment. */
  const unblock = async () => {
    if (unblocking || masters === undefined || stopping.signal.aborted) return;
    if (isConnected()) return;
    if (!needsRecovery()) {
      if (obstacle.blocked.refusals > 0) unblockLater(refusedWaitMs(refusedForMs(), jitter()));
      return;
    }
    const waitMs = recoverNotBefore - clock.monotonic();
    if (waitMs > 0) return unblockLater(waitMs);
    unblocking = true;
    try {
      // A person may have restored the file.
      const before = changes.held?.publicKey;
      changes.reload();
      const isRestored = before !== undefined && changes.held?.publicKey !== before;
      if (!isRestored) await inTurn(recover);
      problem = undefined;
      recoverNotBefore = clock.monotonic() + recoveryBackoff.next();
      await link?.connection.restart();
    } catch (thrown) {
      if (stopping.signal.aborted) return;
      recoverNotBefore = clock.monotonic() + reportFailed(thrown);
      unblockLater(recoverNotBefore - clock.monotonic());
    } finally {
      unblocking = false;
    }
  };
  /** @returns how long to wait */
  const reportFailed = (thrown: unknown): number => {
    const reason = failed(thrown);
    if (thrown instanceof EnrollmentEnded) {
      obstacle.tell(reason, thrown.next);
      return Math.round(endedPauseMs * (1 + jitter() / 2));
    }
    const waitMs = recoveryBackoff.next();
    log.warn("credentials not recovered yet", { reason, retry_in_ms: waitMs });
    return waitMs;
  };

  detach.push(obstacle.onBlocked(() => void unblock()));
  return {
    async recover() {
      for (;;) {
        try {
          return await inTurn(recover);
        } catch (thrown) {
          stopping.signal.throwIfAborted();
          options.signal.throwIfAborted();
          if (thrown instanceof TrustError) throw thrown;
          await sleep(clock, reportFailed(thrown), options.signal);
        }
      }
    },
    attach(next) {
      link = next;
      detach.push(next.connection.onConnect(onConnect));
    },
    renew: () => byHand(renew),
    rekey: () => byHand(rekey),
    mayPublish: (subject) => changes.held?.publishes.includes(subject) === true,
    counts,
    get life() {
      return changes.life;
    },
    get problem() {
      return problem;
    },
    stop() {
      stopping.abort(new SvcError("unavailable", "the peel stops"));
      timer?.cancel();
      again?.cancel();
      for (const run of detach) run();
    },
  };

  /** An operator asked for it, who gets the reason when it fails. */
  async function byHand(run: () => Promise<void>) {
    try {
      await inTurn(run);
      worked();
    } catch (thrown) {
      failed(thrown);
      throw thrown;
    } finally {
      arm();
    }
    return { publicKey: keys.current().publicKey, expiresAt: changes.held?.expiresAt };
  }
}

function nextOf(thrown: unknown): { next?: string } {
  if (thrown instanceof EnrollmentEnded) return { next: thrown.next };
  if (!(thrown instanceof RenewalRefused)) return {};
  switch (thrown.wire) {
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
