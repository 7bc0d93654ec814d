import type { Changes, LowState } from "../function/mod.ts";

/** The result of one state. */
export interface StateResult {
  id: string;
  name: string;
  sls: string;
  function: string;
  /** `null` in test mode, when something would change. */
  result: boolean | null;
  changes: Changes;
  comment: string;
  duration_ms: number;
  /** RFC 3339. */
  started_at: string;
  order: number;
  file: string;
  line: number;
  /** Why the function was not run: a requisite (with `result` false when it failed), `unless`, `onlyif` or `creates`. */
  skipped?: "requisite" | "unless" | "onlyif" | "creates";
}

/** Number of states by outcome. Each state counts in exactly one of the first four. */
export interface StateSummary {
  /** Already in the desired state, or skipped. */
  unchanged: number;
  changed: number;
  /** In test mode. */
  would_change: number;
  failed: number;
  /** Not reached, because the run ended early. */
  not_run: number;
  duration_ms: number;
}

/** The report of a run. */
export interface StateReport {
  test: boolean;
  states: StateResult[];
  summary: StateSummary;
  /** Why states were not reached. */
  stopped?: "failhard" | "cancelled";
}

/** The outcome of a state's function, or of the decision not to run it. */
export type Outcome = Pick<StateResult, "result" | "changes" | "comment" | "skipped">;

export function resultOf(
  state: LowState,
  outcome: Outcome,
  times: Pick<StateResult, "duration_ms" | "started_at">,
): StateResult {
  const { id, name, sls, order, file, line } = state;
  return { id, name, sls, function: state.function, ...outcome, ...times, order, file, line };
}

/** Whether something changed, or would change. */
export function isChanged({ result, changes }: Pick<StateResult, "result" | "changes">): boolean {
  return result === null || (result && Object.keys(changes).length > 0);
}

export function summarize(
  results: readonly StateResult[],
  planned: number,
  duration_ms: number,
): StateSummary {
  const summary = { unchanged: 0, changed: 0, would_change: 0, failed: 0 };
  for (const each of results) {
    if (each.result === false) summary.failed++;
    else if (each.result === null) summary.would_change++;
    else if (isChanged(each)) summary.changed++;
    else summary.unchanged++;
  }
  return { ...summary, not_run: Math.max(0, planned - results.length), duration_ms };
}
