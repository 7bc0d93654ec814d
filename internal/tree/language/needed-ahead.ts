import type { Requisite } from "../function/mod.ts";

/** What states say about each other; targets are indexes into them. */
export type Related = readonly { requisites: readonly Pick<Requisite, "kind" | "targets">[] }[];

/**
 * What the targets of a `prereq` of a state need themselves: whether they are going to change something is known once
 * these have run. Targets that are to run only before others that change something lead further.
 */
export function neededAhead(at: number, states: Related): ReadonlySet<number> {
  const needed = new Set<number>();
  const seen = new Set([at]);
  const trail = prereqsOf(at, states);
  for (let target = trail.pop(); target !== undefined; target = trail.pop()) {
    if (seen.has(target)) continue;
    seen.add(target);
    trail.push(...prereqsOf(target, states));
    for (const { kind, targets } of states[target]?.requisites ?? []) {
      if (kind !== "prereq" && kind !== "listen") for (const each of targets) needed.add(each);
    }
  }
  for (const each of seen) needed.delete(each);
  return needed;
}

/**
 * Adds, to what each state needs, what its `prereq` needs ahead; what needs the state itself is left out.
 *
 * @param needs what states need, by index
 */
export function withNeededAhead(
  needs: readonly (readonly number[])[],
  states: Related,
): (readonly number[])[] {
  const all = [...needs];
  for (const [at] of states.entries()) {
    const ahead = [...neededAhead(at, states)].filter((each) => !leadsTo(each, at, all));
    if (ahead.length > 0) all[at] = [...new Set([...(all[at] ?? []), ...ahead])];
  }
  return all;
}

const prereqsOf = (at: number, states: Related): number[] =>
  (states[at]?.requisites ?? []).flatMap(({ kind, targets }) => (kind === "prereq" ? targets : []));

function leadsTo(from: number, to: number, needs: readonly (readonly number[])[]): boolean {
  const seen = new Set([from]);
  for (const each of seen) for (const next of needs[each] ?? []) seen.add(next);
  return seen.has(to);
}
