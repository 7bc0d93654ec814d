import type { Plain } from "../../base/msgpack.ts";
import { indent, oneLine, plainLines, textLines } from "./plain-lines.ts";
import { type ShownStates, showStates } from "./show-states.ts";

/** What a peel answered: what stands on its line, and the lines below it. */
export interface ShownValue {
  cell: string;
  details: readonly string[];
  /** Of a run of states, whose duration is in the cell: what is equal on many peels, and what is important. */
  states?: Pick<ShownStates, "counts" | "durationMs" | "failures">;
}

/** Shows what a function gave. */
export function showValue(value: Plain): ShownValue {
  const states = showStates(value);
  if (states !== undefined) {
    const { line, details, ...rest } = states;
    return { cell: line, details, states: rest };
  }
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

/** The lines of a value: what a command wrote, when it is the answer of one. */
export function plainOrOutput(value: Plain): string[] {
  const output = outputOf(value);
  return output === undefined ? plainLines(value) : outputLines(output);
}

/** What a command wrote, and other facts about it. */
export interface CommandOutput {
  stdout: string;
  stderr: string;
  rest: Record<string, Plain>;
}

/** Fields of every command that the outcome shows or that do not help people. */
const untold = new Set(["retcode", "pid", "signal"]);

/** Reads the answer of a command; `undefined` for any other. */
export function outputOf(value: Plain): CommandOutput | undefined {
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
