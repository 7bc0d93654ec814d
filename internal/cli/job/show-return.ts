import type { SeenReturn } from "../../fleet/jobs/mod.ts";
import type { Outcome } from "../../fleet/jobs/records/mod.ts";
import {
  plainOrOutput,
  type ShownStates,
  type ShownValue,
  showStates,
  showValue,
  textLines,
} from "../../program/answers/mod.ts";

const discarded = "the answer was discarded to make room for later ones";
/** The line of a peel of which no return is stored. */
const silence: Partial<Record<Outcome, string>> = {
  offline: "not connected: never took the job",
  timeout: "no answer by the deadline",
  cancelled: "cancelled before it took the job",
  ok: discarded,
  failed: discarded,
  busy: discarded,
};

/** Shows what became of one target that has not returned anything. */
export function showSilence(outcome: Outcome): ShownValue {
  return { cell: silence[outcome] ?? "", details: [] };
}

/**
 * Shows what one target returned. An error comes first, and what a failed function still had below.
 *
 * @param options.terse of a run of states only the counts, and what failed
 */
export function showReturn(
  { error, return: value, truncated }: Pick<SeenReturn, "error" | "return" | "truncated">,
  { terse = false }: { terse?: boolean } = {},
): ShownValue {
  const states = value === undefined ? undefined : showStates(value);
  if (states !== undefined) return showRun(states, error, terse);
  const none = truncated ? "(left out: too much for one view, ask with --peel)" : "";
  if (error === undefined) return value === undefined ? { cell: none, details: [] } : showValue(value);
  const [cell = "", ...more] = textLines(error);
  const below = value === undefined || value === null ? [] : plainOrOutput(value);
  return { cell, details: [...more, ...below] };
}

function showRun(states: ShownStates, error: string | undefined, terse: boolean): ShownValue {
  const { line, counts, durationMs, failures } = states;
  const [head = "", ...more] = error === undefined ? [] : textLines(error);
  const before = head === "" ? "" : `${head}: `;
  return {
    cell: before + line,
    details: [...more, ...(terse ? failures : states.details)],
    states: { counts: before + counts, durationMs, failures },
  };
}
