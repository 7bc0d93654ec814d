import * as v from "valibot";
import { escapeInvisible } from "../../base/invisible.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { indent, plainLines, textLines } from "./plain-lines.ts";

/** What a run of states returned, as far as it is shown. */
const form = v.object({
  states: v.array(
    v.looseObject({
      id: v.string(),
      function: v.string(),
      name: v.optional(v.string()),
      at: v.optional(v.string()),
      result: v.nullable(v.boolean()),
      changes: v.optional(v.custom<Record<string, Plain>>(isMap)),
      comment: v.optional(v.string(), ""),
      skipped: v.optional(v.string()),
    }),
  ),
  summary: v.object({
    ok: v.number(),
    changed: v.number(),
    failed: v.number(),
    skipped: v.number(),
    duration_ms: v.number(),
    test: v.boolean(),
    not_run: v.optional(v.number(), 0),
    left_out: v.optional(v.number()),
  }),
  warnings: v.optional(v.array(v.string()), []),
});
export type States = v.InferOutput<typeof form>;
type State = States["states"][number];

/** Reads a return that is one of a run of states; `undefined` for any other. */
export function readStates(value: unknown): States | undefined {
  const parsed = v.safeParse(form, value);
  return parsed.success ? parsed.output : undefined;
}

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
