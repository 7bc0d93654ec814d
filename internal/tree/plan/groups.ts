import type { ExplainedChange, Outcome } from "./compare-peel.ts";

/** Peels for which a change means the same. */
export interface Group extends Outcome {
  /** Encoded ids, sorted. */
  readonly peels: readonly string[];
}

/** Puts peels with the same outcome together, worst first: errors, removals, restarts, then by how many there are. */
export interface Grouping {
  add(peelId: string, outcome: Outcome): void;
  /** Peels for which nothing changes are in none. */
  groups(): Group[];
  /** How many peels nothing changes for. */
  readonly unchanged: number;
}

const isUnchanged = ({ changes, error, unknown, errorBefore }: Outcome): boolean =>
  changes.length === 0 && error === undefined && unknown === undefined && errorBefore === undefined;

export function createGrouping(): Grouping {
  const keys = new WeakMap<Outcome, string>();
  const found = new Map<string, { outcome: Outcome; peels: string[] }>();
  let unchanged = 0;
  const keyOf = (outcome: Outcome): string => {
    const known = keys.get(outcome) ?? JSON.stringify(outcome);
    keys.set(outcome, known);
    return known;
  };
  return {
    get unchanged() {
      return unchanged;
    },
    add(peelId, outcome) {
      if (isUnchanged(outcome)) {
        unchanged++;
        return;
      }
      const key = keyOf(outcome);
      const group = found.get(key) ?? { outcome, peels: [] };
      found.set(key, group);
      group.peels.push(peelId);
    },
    groups() {
      const groups = [...found.values()].map(({ outcome, peels }) => ({ ...outcome, peels: peels.sort() }));
      return groups.sort(byRank);
    },
  };
}

function byRank(one: Group, other: Group): number {
  return (
    rankOf(one) - rankOf(other) ||
    other.peels.length - one.peels.length ||
    ((one.peels[0] ?? "") < (other.peels[0] ?? "") ? -1 : 1)
  );
}

function rankOf({ error, unknown, changes, restarts }: Outcome): number {
  if (error !== undefined) return 0;
  if (changes.some(removes)) return 1;
  if (restarts.length > 0) return 2;
  return unknown === undefined ? 3 : 4;
}

/** States that take something from a host. */
const removing = /\.(?:absent|removed|purged|dead|disabled|uninstalled|down|masked)$/;

const removes = ({ op, function: called }: ExplainedChange): boolean => op === "-" || removing.test(called);
