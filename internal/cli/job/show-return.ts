import type { Plain } from "../../base/msgpack.ts";
import type { Outcome } from "../../fleet/jobs/outcome.ts";
import type { SeenReturn } from "../../fleet/jobs/show.ts";
import { indent, oneLine, plainLines, textLines } from "../../program/command-line/plain-lines.ts";
import { showStates } from "../../program/command-line/show-states.ts";

/** What a peel answered: what stands on its line, and the lines below it. */
export interface ShownReturn {
  cell: string;
  details: readonly string[];
}

/** What is said of a peel that has not returned anything. */
const silence: Partial<Record<Outcome, string>> = {
  offline: "not connected: never took the job",
  timeout: "no answer by the deadline",
  cancelled: "cancelled before it took the job",
};

/** Shows what became of one target. An error comes first, and what a failed function still had below. */
export function showReturn(outcome: Outcome, returned: SeenReturn | undefined): ShownReturn {
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

/** Shows what a function gave. */
export function showValue(value: Plain): ShownReturn {
  const states = showStates(value);
  if (states !== undefined) return { cell: states.line, details: states.details };
  const output = outputOf(value);
  if (output === undefined) {
    const line = oneLine(value);
    return line === undefined ? { cell: "", details: plainLines(value) } : { cell: line, details: [] };
  }
  const lines = outputLines(output);
  const [only, ...more] = lines;
  if (only === undefined) return { cell: "(no output)", details: [] };
  return more.length === 0 && output.stdout !== ""
    ? { cell: only, details: [] }
    : { cell: "", details: lines };
}

function plainOrOutput(value: Plain): string[] {
  const output = outputOf(value);
  return output === undefined ? plainLines(value) : outputLines(output);
}

/** What a command wrote, and whatever else is told about it. */
interface CommandOutput {
  stdout: string;
  stderr: string;
  rest: Record<string, Plain>;
}

/** Told of every command, and seen in the outcome or of no use to people. */
const untold = new Set(["retcode", "pid", "signal"]);

function outputOf(value: Plain): CommandOutput | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array) {
    return undefined;
  }
  const { stdout, stderr, ...others } = value as Record<string, Plain>;
  if (typeof stdout !== "string" || typeof stderr !== "string") return undefined;
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !untold.has(name)));
  return { stdout, stderr, rest };
}

function outputLines({ stdout, stderr, rest }: CommandOutput): string[] {
  return [
    ...(stdout === "" ? [] : textLines(stdout)),
    ...(stderr === "" ? [] : ["stderr:", ...indent(textLines(stderr))]),
    ...(Object.keys(rest).length === 0 ? [] : plainLines(rest)),
  ];
}
