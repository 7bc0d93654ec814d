import type { DropCause } from "./drop.ts";

/** Sources that rest, over all rules: about 30 MiB. */
const maxResting = 200_000;

/** When each source may be served again, in the order they fired. */
type Resting = Map<string, number>;

/**
 * The rests of rules, per source. A source that rests is never forgotten: when there are too many to
 * remember, no other may fire until some have rested.
 */
export function createThrottles() {
  const rules = new Map<string, Resting>();
  let size = 0;

  /** Takes out those that have rested, from the front: nearly always they are in the order they fired. */
  const prune = (rule: string, resting: Resting, now: number) => {
    for (const [source, until] of resting) {
      if (now < until) break;
      resting.delete(source);
      size--;
    }
    if (resting.size === 0) rules.delete(rule);
  };

  return {
    /** Whether a rule rests for a source. */
    check(rule: string, source: string, restMs: number, now: number): DropCause | undefined {
      if (restMs === 0) return undefined;
      const resting = rules.get(rule);
      const until = resting?.get(source);
      if (until !== undefined) return now < until ? "throttled" : undefined;
      if (size < maxResting) return undefined;
      for (const [name, each] of rules) prune(name, each, now);
      return size < maxResting ? undefined : "throttle_full";
    },
    /** Says that a rule fired for a source. */
    note(rule: string, source: string, restMs: number, now: number): void {
      if (restMs === 0) return;
      let resting = rules.get(rule);
      if (resting !== undefined) prune(rule, resting, now);
      resting = rules.get(rule);
      if (resting === undefined) {
        resting = new Map();
        rules.set(rule, resting);
      }
      if (resting.delete(source)) size--;
      resting.set(source, now + restMs);
      size++;
    },
    retain(names: ReadonlySet<string>): void {
      for (const [name, resting] of rules) {
        if (names.has(name)) continue;
        size -= resting.size;
        rules.delete(name);
      }
    },
  };
}
