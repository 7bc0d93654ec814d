import { aliveMs } from "./fleet.ts";

/** A time during which each heartbeat of a peel came before the one before it had expired. */
interface Span {
  since: number;
  /** When the last heartbeat in it expires. */
  end: number;
}

/**
 * When a peel was alive, in monotonic milliseconds: the present span and the one before it, so that a question
 * about an earlier moment has the same answer after the peel came back.
 */
export interface Life {
  present: Span;
  earlier: Span;
}

export function newLife(): Life {
  return { present: never(), earlier: never() };
}

export function noteBeat(life: Life, at: number): void {
  const { present } = life;
  if (at >= present.end) {
    life.earlier = present;
    life.present = { since: at, end: at + aliveMs };
  } else {
    present.since = Math.min(present.since, at);
    present.end = Math.max(present.end, at + aliveMs);
  }
}

/** The heartbeat was removed. */
export function endLife({ present }: Life, at: number): void {
  present.end = Math.min(present.end, at);
}

/** @param knownSince before this moment, a peel that was alive later counts as alive */
export function wasAlive({ present, earlier }: Life, at: number, knownSince: number): boolean {
  if (at >= present.since) return at < present.end;
  if (at >= earlier.since) return at < earlier.end;
  return at < knownSince && Number.isFinite(present.since);
}

/**
 * Whether a peel is alive, and since when: since the first heartbeat of its present span, or since the last one
 * expired. Of a peel that was never heard, nobody knows since when.
 */
export function standingAt({ present }: Life, at: number): { alive: boolean; since?: number } {
  if (at >= present.since && at < present.end) return { alive: true, since: present.since };
  return Number.isFinite(present.end) ? { alive: false, since: present.end } : { alive: false };
}

function never(): Span {
  return { since: Number.POSITIVE_INFINITY, end: Number.NEGATIVE_INFINITY };
}
