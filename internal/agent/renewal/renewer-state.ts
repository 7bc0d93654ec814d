import type { Backoff } from "../../base/backoff.ts";
import { rfc3339, type Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { RenewalRefused } from "../../wire/renewal.ts";
import { EnrollmentEnded } from "../joining/mod.ts";
import type { Obstacle } from "../link/mod.ts";
import type { Changes } from "./changes.ts";
import type { ChangeOptions, PeelLink } from "./changing.ts";
import { isForNow } from "./send-renewal.ts";

/** How often the credentials were renewed and recovered since the start, and how often that failed. */
export type RenewalCounts = Record<"renewed" | "recovered" | "rekeyed" | "refused" | "failed", number>;

export interface RenewerOptions extends ChangeOptions {
  obstacle: Pick<Obstacle, "blocked" | "onBlocked" | "report" | "clear" | "halt" | "endHalt" | "isHalted">;
  /** What this version publishes on: credentials that lack it are renewed before their time. */
  publishes?: readonly string[];
  /** A number in [0, 1). */
  jitter: () => number;
  signal: AbortSignal;
}

/** A renewer at work. Times are on the monotonic clock. */
export interface RenewerState extends RenewerOptions {
  readonly changes: Changes;
  readonly counts: RenewalCounts;
  readonly backoff: Backoff;
  readonly recoveryBackoff: Backoff;
  readonly stopping: AbortController;
  /** How the peel reaches the bus, once it does. */
  link: PeelLink | undefined;
  /** Why the last attempt failed. */
  problem: string | undefined;
  /** The last step that was begun: each reads what the one before wrote. */
  turn: Promise<unknown>;
  /** Drawn for each issue, so that a fleet that enrolled together does not renew together. */
  drawn: { publicKey: string | undefined; chance: number } | undefined;
  /** Until the next renewal. */
  timer: Timer | undefined;
  /** No renewal is tried before this. */
  notBefore: number;
  /** No renewal for what credentials lack is tried before this. */
  lackingNotBefore: number;
  /** Until the next check of what keeps the peel off the bus. */
  checkTimer: Timer | undefined;
  /** No recovery is tried before this. */
  recoverNotBefore: number;
  /** A recovery runs. */
  unblocking: boolean;
}

/** Runs one step at a time. */
export function inTurn<Result>(renewer: RenewerState, run: () => Promise<Result>): Promise<Result> {
  const mine = renewer.turn.then(() => {
    renewer.stopping.signal.throwIfAborted();
    return run();
  });
  renewer.turn = mine.catch(() => {});
  return mine;
}

export const isConnected = ({ link }: RenewerState): boolean => link?.connection.connected === true;

/** Counts a failed step. @returns why it failed */
export function failed(renewer: RenewerState, thrown: unknown): string {
  const problem = describeError(thrown);
  renewer.problem = problem;
  const isRefused = thrown instanceof RenewalRefused || thrown instanceof EnrollmentEnded;
  renewer.counts[isRefused && !isForNow(thrown) ? "refused" : "failed"]++;
  return problem;
}

export async function renew({ changes, link, counts, log }: RenewerState): Promise<void> {
  await changes.renew(link);
  counts.renewed++;
  log.info("credentials renewed", shown(changes));
}

export async function rekey({ changes, link, counts, log }: RenewerState): Promise<void> {
  await changes.rekey(link);
  counts.rekeyed++;
  log.info("credentials renewed", shown(changes));
}

export async function recover({ changes, obstacle, counts, log }: RenewerState): Promise<void> {
  await changes.recover();
  obstacle.clear();
  counts.recovered++;
  log.info("credentials recovered", shown(changes));
}

function shown({ held }: Changes) {
  const { publicKey, expiresAt } = held ?? {};
  return { public_key: publicKey, expires_at: expiresAt === undefined ? undefined : rfc3339(expiresAt) };
}
