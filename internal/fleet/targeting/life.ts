import { aliveMs } from "./fleet.ts";

/**
 * After the end of its connection a peel is silent this soon, unless another heartbeat arrives: over another
 * connection, or over one that it opens at once, it sends a heartbeat within 10 s.
 */
const unconnectedMs = 12_000;

/** A time during which each heartbeat of a peel came before the one before it had expired. */
interface Span {
  since: number;
  /** When the last heartbeat in it expires. */
  end: number;
  /** The same two moments by the clock of the bus, which is the same for all masters: Unix milliseconds. */
  sinceAt: number;
  endAt: number;
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

/** @param storedAt when the bus stored it, milliseconds since the Unix epoch */
export function noteBeat(life: Life, at: number, storedAt: number): void {
  const { present } = life;
  if (at >= present.end) {
    life.earlier = present;
    life.present = { since: at, end: at + aliveMs, sinceAt: storedAt, endAt: storedAt + aliveMs };
  } else {
    present.since = Math.min(present.since, at);
    present.end = Math.max(present.end, at + aliveMs);
    present.sinceAt = Math.min(present.sinceAt, storedAt);
    present.endAt = Math.max(present.endAt, storedAt + aliveMs);
  }
}

/** The peel said goodbye, or its heartbeat was removed. @param storedAt as for `noteBeat` */
export function endLife({ present }: Life, at: number, storedAt: number): void {
  if (at >= present.end) return;
  present.end = at;
  present.endAt = storedAt;
}

/**
 * A connection of the peel ended. Whether it has another one, its next heartbeat tells. @param now Unix milliseconds
 */
export function doubtLife(life: Life, at: number, now: number): void {
  endLife(life, at + unconnectedMs, now + unconnectedMs);
}

/** @param knownSince before this moment, a peel that was alive later counts as alive */
export function wasAlive({ present, earlier }: Life, at: number, knownSince: number): boolean {
  if (at >= present.since) return at < present.end;
  if (at >= earlier.since) return at < earlier.end;
  return at < knownSince && Number.isFinite(present.since);
}

/**
 * Whether a peel is alive, and since when, by the clock of the bus: since the first heartbeat of its present span, or
 * since the last one expired. For a peel that never reported, that time is unknown.
 */
export function standingAt({ present }: Life, at: number): { alive: boolean; since?: number } {
  if (at >= present.since && at < present.end) return { alive: true, since: present.sinceAt };
  return Number.isFinite(present.end) ? { alive: false, since: present.endAt } : { alive: false };
}

function never(): Span {
  const [since, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return { since, end, sinceAt: since, endAt: end };
}
