import type { Clock } from "../../base/clock.ts";
import type { DropCause } from "./events/mod.ts";

const minute = 60_000;

/** An open breaker, as displayed and stored. Times are milliseconds since the Unix epoch. */
export interface OpenBreaker {
  readonly rule: string;
  readonly openedAt: number;
  readonly openUntil: number;
}

interface State {
  /** Times of the firings in the last minute, oldest first from `head` on. */
  fires: number[];
  head: number;
  open?: { openedAt: number; until: number };
}

interface BreakerOptions {
  /** Maximum firings of a rule in any minute. One more opens its breaker. 0 means no breaker. */
  stormRate: number;
  /** How long a breaker stays open. Once it has closed, it counts from zero. */
  cooldownMs: number;
  clock: Clock;
  onOpen?: (open: OpenBreaker) => void;
}

/**
 * The circuit breakers, one per rule. In no minute in which its breaker was not open does a rule fire more often
 * than the rate. Times are monotonic; only displayed and stored times are wall time.
 *
 * Memory use is one number per firing of the last minute.
 */
export function createBreakers({ stormRate, cooldownMs, clock, onOpen }: BreakerOptions) {
  const states = new Map<string, State>();

  const shown = (rule: string, { openedAt, until }: { openedAt: number; until: number }): OpenBreaker => ({
    rule,
    openedAt,
    openUntil: clock.now() + (until - clock.monotonic()),
  });
  const isOpen = (state: State | undefined, now: number) =>
    state?.open !== undefined && now < state.open.until;
  const isFull = (state: State, now: number) => {
    while (state.head < state.fires.length && now - (state.fires[state.head] ?? 0) >= minute) state.head++;
    if (state.head > stormRate) {
      state.fires.splice(0, state.head);
      state.head = 0;
    }
    return state.fires.length - state.head >= stormRate;
  };

  return {
    /** Whether a firing would be allowed, without counting it. */
    check(rule: string, now: number): DropCause | undefined {
      const state = states.get(rule);
      if (stormRate === 0 || state === undefined) return undefined;
      return isOpen(state, now) || isFull(state, now) ? "breaker_open" : undefined;
    },
    /** Allows and counts a firing, or opens the breaker. */
    take(rule: string, now: number): boolean {
      if (stormRate === 0) return true;
      let state = states.get(rule);
      if (state === undefined) {
        state = { fires: [], head: 0 };
        states.set(rule, state);
      }
      if (isOpen(state, now)) return false;
      delete state.open;
      if (isFull(state, now)) {
        // Earlier firings would open it again at once, and a short cooldown would last a minute.
        const open = { openedAt: clock.now(), until: now + cooldownMs };
        states.set(rule, { fires: [], head: 0, open });
        onOpen?.(shown(rule, open));
        return false;
      }
      state.fires.push(now);
      return true;
    },
    snapshot(): OpenBreaker[] {
      const now = clock.monotonic();
      return [...states]
        .flatMap(([rule, state]) =>
          state.open !== undefined && isOpen(state, now) ? [shown(rule, state.open)] : [],
        )
        .sort((a, b) => (a.rule < b.rule ? -1 : 1));
    },
    restore(open: readonly OpenBreaker[]): void {
      if (stormRate === 0) return;
      for (const { rule, openedAt, openUntil } of open) {
        // The clocks of two masters may differ, but no breaker stays open longer than it would here.
        const leftMs = Math.min(openUntil - clock.now(), cooldownMs);
        if (!(leftMs > 0)) continue;
        const state = states.get(rule) ?? { fires: [], head: 0 };
        state.open = { openedAt, until: clock.monotonic() + leftMs };
        states.set(rule, state);
      }
    },
    reset(rule?: string): string[] {
      const now = clock.monotonic();
      const names = rule === undefined ? [...states.keys()] : [rule];
      const opened = names.filter((name) => isOpen(states.get(name), now));
      for (const name of names) states.delete(name);
      return opened.sort();
    },
    retain(names: ReadonlySet<string>): void {
      for (const name of states.keys()) if (!names.has(name)) states.delete(name);
    },
  };
}
