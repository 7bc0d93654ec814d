import type { DropCause } from "./events/mod.ts";

/** Maximum number of throttled sources over all rules: about 30 MiB. */
const maxResting = 200_000;

/** Sources that were throttled one after the other. */
interface Generation {
  /** When the throttle of each source ends. */
  readonly until: Map<string, number>;
  /** The last of these times. */
  latest: number;
}

interface Resting {
  young: Generation;
  old: Generation;
}

/**
 * The throttles of rules, per source. A throttled source is never forgotten: when there are too many, no
 * rule may fire for another source until some throttles end.
 *
 * Each rule has two generations. The older one is dropped as a whole when all its throttles have ended.
 */
export function createThrottles() {
  const rules = new Map<string, Resting>();
  let size = 0;

  const age = (resting: Resting, now: number) => {
    if (now < resting.old.latest) return;
    size -= resting.old.until.size;
    resting.old = resting.young;
    resting.young = emptyGeneration();
  };

  return {
    /** Whether a rule is throttled for a source. */
    check(rule: string, source: string, restMs: number, now: number): DropCause | undefined {
      if (restMs === 0) return undefined;
      const resting = rules.get(rule);
      const until = resting?.young.until.get(source) ?? resting?.old.until.get(source);
      if (until !== undefined && now < until) return "throttled";
      if (size < maxResting) return undefined;
      for (const each of rules.values()) age(each, now);
      return size < maxResting ? undefined : "throttle_full";
    },
    /** Records that a rule fired for a source. */
    note(rule: string, source: string, restMs: number, now: number): void {
      if (restMs === 0) return;
      let resting = rules.get(rule);
      if (resting === undefined) {
        resting = { young: emptyGeneration(), old: emptyGeneration() };
        rules.set(rule, resting);
      }
      age(resting, now);
      const { young } = resting;
      if (!young.until.has(source)) size++;
      young.until.set(source, now + restMs);
      young.latest = Math.max(young.latest, now + restMs);
    },
    retain(names: ReadonlySet<string>): void {
      for (const [name, { young, old }] of rules) {
        if (names.has(name)) continue;
        size -= young.until.size + old.until.size;
        rules.delete(name);
      }
    },
  };
}

function emptyGeneration(): Generation {
  return { until: new Map(), latest: Number.NEGATIVE_INFINITY };
}
