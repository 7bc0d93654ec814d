import { defined } from "../../base/defined.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { indent, plainLines, textLines } from "./plain-lines.ts";

/** A state of a run, as far as it is shown. */
interface State {
  id: string;
  function: string;
  name?: string;
  at?: string;
  result: boolean | null;
  changes?: Record<string, Plain> | undefined;
  comment: string;
  skipped?: string | undefined;
}

/** What a run of states returned, as far as it is shown. */
export interface States {
  states: State[];
  summary: {
    ok: number;
    changed: number;
    failed: number;
    skipped: number;
    duration_ms: number;
    test: boolean;
    not_run: number;
    left_out?: number;
  };
  warnings: string[];
}

/**
 * Reads a return that is one of a run of states; `undefined` for any other. By hand: the console reads returns too, and
 * a library for it would be a part of its first page.
 */
export function readStates(value: unknown): States | undefined {
  if (!isMap(value)) return undefined;
  const { states, summary, warnings = [] } = value;
  if (!Array.isArray(states) || !isMap(summary)) return undefined;
  const read = states.map(readState).filter((state) => state !== undefined);
  const { ok, changed, failed, skipped, duration_ms, test, not_run = 0, left_out } = summary;
  const isNumber = (one: unknown): one is number => typeof one === "number";
  if (read.length < states.length || typeof test !== "boolean" || !isTexts(warnings)) return undefined;
  if (!isNumber(ok) || !isNumber(changed) || !isNumber(failed) || !isNumber(skipped)) return undefined;
  if (!isNumber(duration_ms) || !isNumber(not_run)) return undefined;
  if (left_out !== undefined && !isNumber(left_out)) return undefined;
  const counts = { ok, changed, failed, skipped, duration_ms, test, not_run, ...defined({ left_out }) };
  return { states: read, summary: counts, warnings: [...warnings] };
}

function readState(value: unknown): State | undefined {
  if (!isMap(value)) return undefined;
  const { id, function: called, result, changes, comment = "", name, at, skipped } = value;
  const isText = (one: unknown): one is string => typeof one === "string";
  const isAbsentOrText = (one: unknown): one is string | undefined => one === undefined || isText(one);
  if (!isText(id) || !isText(called) || !isText(comment)) return undefined;
  if (!isAbsentOrText(name) || !isAbsentOrText(at) || !isAbsentOrText(skipped)) return undefined;
  if (result !== null && typeof result !== "boolean") return undefined;
  if (changes !== undefined && !isMap(changes)) return undefined;
  const known = changes as Record<string, Plain> | undefined;
  return { id, function: called, result, comment, ...defined({ name, at, skipped, changes: known }) };
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** A run of states in readable form: its result on one line, and below it the changes and failures. */
export interface ShownStates {
  /** The counts, and how long it took. */
  line: string;
  /** `2 changed, 1 failed, 117 ok` */
  counts: string;
  durationMs: number;
  details: readonly string[];
  /** Of the details, those about the states that failed. */
  failures: readonly string[];
}

/** Shows a return that is one of a run of states; `undefined` for any other. */
export function showStates(value: Plain): ShownStates | undefined {
  const read = readStates(value);
  if (read === undefined) return undefined;
  const { states, summary, warnings } = read;
  const shown = states.filter((state) => standingOf(state) !== "ok");
  // The failed ones last, where the eye is when it is over.
  const ordered = [
    ...shown.filter((state) => standingOf(state) !== "FAILED"),
    ...shown.filter((state) => standingOf(state) === "FAILED"),
  ];
  const leftOut = summary.left_out ?? 0;
  const counts = countsOf(summary);
  const failed = ordered.filter((state) => standingOf(state) === "FAILED");
  return {
    line: `${counts} (${seconds(summary.duration_ms)} s)`,
    counts,
    durationMs: summary.duration_ms,
    failures: failed.flatMap((state) => stateLines(state, summary.test)),
    details: [
      ...warnings.map((warning) => escapeInvisible(`warning: ${warning}`)),
      ...ordered.flatMap((state) => stateLines(state, summary.test)),
      ...(leftOut === 0 ? [] : [`(${leftOut} more states are not listed: the return would be too long)`]),
    ],
  };
}

/** `1.2` */
export function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

/** `2 changed, 1 failed, 117 ok`; what would change in a test run. */
export function countsOf({ ok, changed, failed, skipped, not_run, test }: States["summary"]): string {
  const counts = [
    [changed, test ? "would change" : "changed"],
    [failed, "failed"],
    [skipped, "skipped"],
    [not_run, "not run"],
    [ok, "ok"],
  ] as const;
  const words = counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return words.join(", ") || "no states";
}

/** How a state ended. */
export function standingOf({
  result,
  changes = {},
  skipped,
}: Pick<State, "result" | "changes" | "skipped">): "ok" | "changed" | "skipped" | "FAILED" {
  if (result === false) return "FAILED";
  if (skipped !== undefined) return "skipped";
  return result === null || Object.keys(changes).length > 0 ? "changed" : "ok";
}

function stateLines(state: State, test: boolean): string[] {
  const { id, name = id, at, comment, changes = {} } = state;
  const standing = standingOf(state);
  const word = standing === "changed" && test ? "would change" : standing;
  const about = name === id ? name : `${name} (${id})`;
  const place = at === undefined ? "" : `  [${at}]`;
  const head = escapeInvisible(`${word}: ${state.function} ${about}${place}`);
  return [
    head,
    ...indent([
      ...(comment === "" ? [] : textLines(comment)),
      ...Object.entries(changes).flatMap(([what, change]) => changeLines(what, change)),
    ]),
  ];
}

/** A diff stands as it is; anything else as `name: value`. */
function changeLines(name: string, change: Plain): string[] {
  if (change === null || typeof change !== "object" || Array.isArray(change)) {
    return plainLines({ [name]: change });
  }
  const { diff, ...rest } = change as Record<string, Plain>;
  if (typeof diff !== "string") return plainLines({ [name]: change });
  return [...(Object.keys(rest).length === 0 ? [] : plainLines({ [name]: rest })), ...textLines(diff)];
}
