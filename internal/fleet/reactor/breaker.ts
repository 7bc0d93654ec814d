import type { Clock } from "../../base/clock.ts";
import type { DropCause } from "./drop.ts";

const minute = 60_000;

/** A breaker that is open, as it is shown and stored. Times are milliseconds since the Unix epoch. */
export interface OpenBreaker {
  readonly rule: string;
  readonly openedAt: number;
  readonly openUntil: number;
}

interface State {
  /** When the last fires were, oldest first from `head` on; those of the last minute at most. */
  fires: number[];
  head: number;
  open?: { openedAt: number; until: number };
}

interface BreakerOptions {
  /** Fires of a rule in any minute; one more opens its breaker. 0 is no breaker. */
  stormRate: number;
  cooldownMs: number;
  clock: Clock;
  onOpen?: (open: OpenBreaker) => void;
}

/**
 * The storm breakers, one per rule. No minute, wherever it begins, has more fires of a rule than the rate,
 * also across the end of a cooldown. Times are those of the clock that never jumps; only what is shown and
 * stored is in wall time.
 *
 * What is remembered is one number per fire of the last minute.
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
    /** Whether a fire would be let through, counting nothing. */
    check(rule: string, now: number): DropCause | undefined {
      const state = states.get(rule);
      if (stormRate === 0 || state === undefined) return undefined;
      return isOpen(state, now) || isFull(state, now) ? "breaker_open" : undefined;
    },
    /** Lets a fire through and counts it, or opens the breaker. */
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
        state.open = { openedAt: clock.now(), until: now + cooldownMs };
        onOpen?.(shown(rule, state.open));
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
        // The clocks of two masters differ, and nothing stays open longer than the cooldown.
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
