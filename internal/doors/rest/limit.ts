import type { Clock } from "../../base/clock.ts";

/** A token bucket: a number of requests at once, and a number per second in the long run. */
export interface Budget {
  capacity: number;
  tokensPerSecond: number;
}

/** The two budgets of the specification, section "Limits", and that of sign-in to the console. */
export const budgets = {
  strict: { capacity: 10, tokensPerSecond: 0.1 },
  relaxed: { capacity: 120, tokensPerSecond: 20 },
  /** Apart from enrollment: otherwise hosts that enroll shut out the people behind the same address. */
  "sign-in": { capacity: 10, tokensPerSecond: 0.1 },
} as const satisfies Record<string, Budget>;

/** The budget of a route; `none` is for answers that cost less than a refusal. */
export type BudgetName = keyof typeof budgets | "none";

const evictAbove = 5_000;
const evictOlderThanMs = 5 * 60 * 1000;
/**
 * Above this number, the least recently seen sources are removed, whatever their age: memory stays bounded.
 */
const hardLimit = 50_000;

interface Level {
  tokens: number;
  at: number;
}

/** Decides request by request whether a source is within its budget. */
export interface Limiter {
  allow(source: string): boolean;
  /** A source has again what it spent, up to its whole budget. */
  giveBack(source: string, count: number): void;
  readonly size: number;
}

export function createLimiter(budget: Budget, clock: Pick<Clock, "monotonic">): Limiter {
  // A map iterates in the order of insertion; each use inserts again, so the oldest come first.
  const levels = new Map<string, Level>();
  return {
    allow(source) {
      const now = clock.monotonic();
      const level = refill(levels.get(source), budget, now);
      const allowed = level.tokens >= 1;
      if (allowed) level.tokens -= 1;
      levels.delete(source);
      levels.set(source, level);
      evict(levels, now);
      return allowed;
    },
    giveBack(source, count) {
      const level = levels.get(source);
      // A source that was forgotten has its whole budget.
      if (level !== undefined) level.tokens = Math.min(budget.capacity, level.tokens + count);
    },
    get size() {
      return levels.size;
    },
  };
}

function refill(level: Level | undefined, budget: Budget, now: number): Level {
  if (level === undefined) return { tokens: budget.capacity, at: now };
  const earned = ((now - level.at) / 1000) * budget.tokensPerSecond;
  return { tokens: Math.min(budget.capacity, level.tokens + earned), at: now };
}

function evict(levels: Map<string, Level>, now: number): void {
  if (levels.size <= evictAbove) return;
  for (const [source, level] of levels) {
    if (level.at > now - evictOlderThanMs && levels.size <= hardLimit) return;
    levels.delete(source);
  }
}
