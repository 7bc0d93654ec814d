import type { LowState, Requisite, StateFunction } from "../function/mod.ts";
import { decide, type Ended, type Met } from "./decide.ts";
import { isChanged, type StateResult } from "./result.ts";
import { type Execution, wouldChange } from "./run-state.ts";

/** A run as far as it has come. */
export interface SoFar {
  states: readonly LowState[];
  /** By `order`. */
  results: ReadonlyMap<number, StateResult>;
  execution: Execution;
  functionOf(state: LowState): StateFunction;
}

/** A chain of `prereq` is followed so far: each link is planned for each link before it. */
const maxLinks = 32;

/**
 * What a run says about a requisite.
 *
 * @param links of `prereq` that led here; then a target that has not run yet counts as one that lets the state run
 */
export async function metOf(
  { kind, targets, label: written, isMissing }: Requisite,
  run: SoFar,
  links = 0,
): Promise<Met> {
  if (isMissing) {
    const missing = { label: `${written}, which does not exist,`, result: false, changed: false };
    return { kind: "require", targets: [missing] };
  }
  const ended: Ended[] = [];
  for (const target of targets) {
    const state = run.states[target];
    if (state === undefined || kind === "listen") continue;
    const label = labelOf(state);
    if (kind === "prereq") {
      ended.push({ label, result: true, changed: await isGoingToChange(state, run, links + 1) });
      continue;
    }
    const result = run.results.get(target);
    if (result !== undefined) ended.push({ label, result: result.result, changed: isChanged(result) });
    else if (links > 0) ended.push({ label, result: !kind.startsWith("onfail"), changed: true });
  }
  return { kind, targets: ended };
}

/** Whether a state is going to run, and to change something. */
async function isGoingToChange(state: LowState, run: SoFar, links: number): Promise<boolean> {
  if (links <= maxLinks) {
    const met: Met[] = [];
    for (const requisite of state.requisites) met.push(await metOf(requisite, run, links));
    if (decide(met).act !== "run") return false;
  }
  return wouldChange(state, run.functionOf(state), run.execution);
}

/** `file: /etc/motd` */
export function labelOf({ id, function: name }: LowState): string {
  return `${name.slice(0, name.indexOf("."))}: ${id}`;
}
