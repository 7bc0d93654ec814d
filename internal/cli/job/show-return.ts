import type { Outcome, SeenReturn } from "../../fleet/jobs/mod.ts";
import {
  plainOrOutput,
  type ShownValue,
  showStates,
  showValue,
  textLines,
} from "../../program/answers/mod.ts";

/** What is said of a peel that has not returned anything. */
const silence: Partial<Record<Outcome, string>> = {
  offline: "not connected: never took the job",
  timeout: "no answer by the deadline",
  cancelled: "cancelled before it took the job",
};

/** Shows what became of one target. An error comes first, and what a failed function still had below. */
export function showReturn(outcome: Outcome, returned: SeenReturn | undefined): ShownValue {
  if (returned === undefined) return { cell: silence[outcome] ?? "", details: [] };
  const { error, return: value } = returned;
  const none = returned.truncated ? "(left out: too much for one view, ask with --peel)" : "";
  const shown = value === undefined ? { cell: none, details: [] } : showValue(value);
  if (error === undefined) return shown;
  const [cell = "", ...more] = textLines(error);
  const states = value === undefined ? undefined : showStates(value);
  if (states !== undefined) return { cell: `${cell}: ${states.line}`, details: [...more, ...states.details] };
  const below = value === undefined || value === null ? [] : plainOrOutput(value);
  return { cell, details: [...more, ...below] };
}
