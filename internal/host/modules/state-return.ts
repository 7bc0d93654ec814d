import { cutCounted } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import type { StateResult, StatesRun } from "./states-service.ts";

/** A return is limited to 512 KiB; this leaves room for the envelope. */
export const maxReturnBytes = 400 * 1024;
const keptText = 1_000;
const keptNames = 10;
/** Encoded size of a state without its strings, rounded up: field names, lengths, numbers. */
const aroundTexts = 160;

/** Number of states by outcome. Each state counts once: one that failed halfway counts as failed. */
export interface StatesSummary {
  /** Already in the desired state. */
  ok: number;
  /** Changed, or would change in a test run. */
  changed: number;
  failed: number;
  /** Not run because of a requisite, `unless` or `onlyif`. */
  skipped: number;
  /** Not reached, because the run ended early. */
  not_run?: number;
  stopped?: "failhard" | "cancelled";
  duration_ms: number;
  test: boolean;
  environment: string;
  commit?: string;
  /** States that are counted but omitted from the list, which would be too large. */
  left_out?: number;
}

type Standing = "ok" | "changed" | "failed" | "skipped";

/** The outcome that a state counts as. */
function standingOf({ result, changes, skipped }: StateResult): Standing {
  if (result === false) return "failed";
  if (skipped !== undefined) return "skipped";
  return result === null || Object.keys(changes).length > 0 ? "changed" : "ok";
}

/** Counts the states of a run. */
export function summaryOf(run: StatesRun): StatesSummary {
  const counts: Record<Standing, number> = { ok: 0, changed: 0, failed: 0, skipped: 0 };
  for (const state of run.states) counts[standingOf(state)]++;
  const { duration_ms, test, environment, commit, stopped, not_run } = run;
  return {
    ...counts,
    ...(not_run === 0 ? {} : { not_run }),
    ...defined({ stopped }),
    duration_ms,
    test,
    environment,
    ...defined({ commit }),
  };
}

/**
 * The return of a run: `{states, summary}`, and `warnings` and `host_calls` if there are any. A return that is too large is reduced step by step: unchanged
 * states are first only named, then omitted; then long strings in changes are cut; then changes are only
 * named; at last whole states are omitted, failed ones last.
 */
export function statesReturn(run: StatesRun, maxBytes = maxReturnBytes): Plain {
  const summary = summaryOf(run);
  let states: readonly Plain[] = run.states.map((state) => ({ ...state }));
  if (mayExceed(run.states, maxBytes) && sizeOf(states) > maxBytes) {
    for (const shorten of shorter) {
      states = run.states.flatMap(shorten);
      if (sizeOf(states) <= maxBytes) break;
    }
    if (sizeOf(states) > maxBytes) states = fitting(run.states, maxBytes);
  }
  const leftOut = run.states.length - states.length;
  return {
    states: [...states],
    summary: { ...summary, ...(leftOut === 0 ? {} : { left_out: leftOut }) },
    ...(run.warnings === undefined ? {} : { warnings: [...run.warnings] }),
    ...(run.host_calls === undefined ? {} : { host_calls: { ...run.host_calls } }),
  };
}

/** Reductions, each stronger than the one before. */
const shorter: readonly ((state: StateResult) => Plain[])[] = [
  (state) => [isQuiet(state) ? named(state) : { ...state }],
  (state) => (isQuiet(state) ? [] : [{ ...state }]),
  (state) => (isQuiet(state) ? [] : [{ ...state, changes: cutTexts(state.changes) }]),
  (state) => (isQuiet(state) ? [] : [short(state)]),
];

function isQuiet(state: StateResult): boolean {
  const standing = standingOf(state);
  return standing === "ok" || standing === "skipped";
}

function named({ id, function: called, result }: StateResult): Plain {
  return { id, function: called, result };
}

/** Keeps the names of the changes. */
function short({ comment, changes, ...state }: StateResult): Plain {
  const names = Object.keys(changes).slice(0, keptNames).map(cut);
  return {
    ...state,
    changes: Object.fromEntries(names.map((name) => [name, "left out"])),
    comment: cut(comment),
  };
}

/** As many states as fit, failed ones first, in the order of the run. */
function fitting(states: readonly StateResult[], maxBytes: number): Plain[] {
  const rank = (state: StateResult) => (standingOf(state) === "failed" ? 0 : 1);
  const kept = new Set<StateResult>();
  let left = maxBytes;
  for (const state of [...states].filter((each) => !isQuiet(each)).sort((a, b) => rank(a) - rank(b))) {
    left -= encode(short(state)).length;
    if (left < 0) break;
    kept.add(state);
  }
  return states.filter((state) => kept.has(state)).map(short);
}

function cutTexts(value: Plain): Plain {
  if (typeof value === "string") return cut(value);
  if (Array.isArray(value)) return value.map(cutTexts);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cutTexts(item)]));
}

const cut = (text: string) => cutCounted(text, keptText);

/**
 * Whether the states might exceed the limit. Estimates the size, because encoding would be most of the work
 * of a run without changes.
 */
function mayExceed(states: readonly StateResult[], maxBytes: number): boolean {
  if (maxBytes === Number.POSITIVE_INFINITY) return false;
  let max = 0;
  for (const { id, name, function: called, at = "", comment, changes } of states) {
    if (Object.keys(changes).length > 0) return true;
    for (const text of [id, name, called, at, comment]) max += Buffer.byteLength(text);
    max += aroundTexts;
    if (max > maxBytes) return true;
  }
  return false;
}

function sizeOf(states: readonly Plain[]): number {
  return encode([...states]).length;
}
