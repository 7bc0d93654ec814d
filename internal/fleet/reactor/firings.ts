/** How often a rule fired, and when it did last, milliseconds since the Unix epoch. */
export interface Firing {
  count: number;
  lastAt: number;
}

/** Counts how often rules fire, for people: since this master runs the reactor, and of the rules in force. */
export function createFirings() {
  const known = new Map<string, Firing>();
  return {
    note(rule: string, at: number): void {
      known.set(rule, { count: (known.get(rule)?.count ?? 0) + 1, lastAt: at });
    },
    of: (rule: string): Firing | undefined => known.get(rule),
    retain(names: ReadonlySet<string>): void {
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    },
  };
}
