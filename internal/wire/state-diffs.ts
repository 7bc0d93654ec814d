import * as v from "valibot";
import { cutCounted } from "../base/cut.ts";
import { foreign, type Plain } from "../base/msgpack.ts";
import { atLine } from "../base/place.ts";
import { type RecordOf, record } from "../base/record.ts";
import { optional } from "../base/record-kinds.ts";
import { described, plainMap, timestamp } from "../base/schema.ts";
import type { EndedState } from "../host/modules/mod.ts";
import { maxLength, type Report } from "./state-report.ts";

/** The largest message with differences that the bucket takes, bytes. */
export const maxDiffBytes = 128 * 1024;
/** States in one message, at most. */
const maxStates = 200;
/** Characters of a text inside the changes of a state. */
const maxText = 4_000;
const shorterText = 400;

const text = (max: number) => v.pipe(v.string(), v.maxLength(max));

/** A state that was changed, would be, or failed, with its differences. */
export const shownDiff = v.object({
  id: described(text(maxLength.id), "The id of its declaration"),
  function: described(text(maxLength.function), "State function"),
  name: described(text(maxLength.file), "What the state is about"),
  at: v.exactOptional(described(text(maxLength.file + 20), "Where it is declared: `web/init.sls:12`")),
  result: described(v.nullable(v.boolean()), "Whether it succeeded; null where it would change something"),
  changes: described(plainMap, "What changed, or would change"),
  comment: described(text(maxLength.comment), "What the function said"),
});
export type StateDiff = v.InferOutput<typeof shownDiff>;

const fields = {
  run_at: timestamp,
  jid: optional(v.string()),
  states: v.pipe(v.array(shownDiff), v.maxLength(maxStates)),
} as const;
const stored = record("report of differences", fields, { isOpen: true, limits: foreign(maxDiffBytes) });

/** The differences of one run, as they are stored in the bucket `compliance-diffs`. */
export type Diffs = RecordOf<typeof fields>;

/**
 * The bytes of the differences of a run. Where they are too long, texts are cut, and then states left out, failed ones
 * last.
 *
 * @returns `undefined` for a run without any
 */
export function encodeDiffs(
  { run_at, jid }: Pick<Report, "run_at" | "jid">,
  states: readonly EndedState[],
): Uint8Array | undefined {
  const reported = states.filter(isReported).toSorted((one, other) => rank(one) - rank(other));
  if (reported.length === 0) return undefined;
  const of = { run_at, ...(jid === undefined ? {} : { jid }) };
  for (const max of [maxText, shorterText]) {
    const bytes = stored.encode({
      ...of,
      states: reported.slice(0, maxStates).map((state) => diffOf(state, max)),
    });
    if (bytes.length <= maxDiffBytes) return bytes;
  }
  for (let kept = Math.min(reported.length, maxStates); kept > 0; kept = Math.floor(kept / 2)) {
    const bytes = stored.encode({ ...of, states: reported.slice(0, kept).map((state) => diffOf(state, 0)) });
    if (bytes.length <= maxDiffBytes) return bytes;
  }
  return undefined;
}

/** @throws when the bytes are not such differences: a peel may send anything */
export const decodeDiffs = stored.decode;

/** Whether differences are those of this run. */
export function areOf(diffs: Pick<Diffs, "run_at" | "jid">, report: Pick<Report, "run_at" | "jid">): boolean {
  return diffs.run_at === report.run_at && diffs.jid === report.jid;
}

const isReported = ({ result, changes }: EndedState) => result !== true || Object.keys(changes).length > 0;
const rank = ({ result }: EndedState) => (result === false ? 0 : 1);

/** @param max characters of a text in the changes; 0 leaves the changes out */
function diffOf(state: EndedState, max: number): StateDiff {
  const { id, function: called, name, file, line, result, changes, comment } = state;
  return {
    id: id.slice(0, maxLength.id),
    function: called.slice(0, maxLength.function),
    name: name.slice(0, maxLength.file),
    ...(file === "" ? {} : { at: atLine(file.slice(0, maxLength.file), line) }),
    result,
    changes: max === 0 ? {} : cutAll(changes, max),
    comment: comment.slice(0, maxLength.comment),
  };
}

function cutAll(map: Readonly<Record<string, Plain>>, max: number): Record<string, Plain> {
  return Object.fromEntries(Object.entries(map).map(([name, item]) => [name, cut(item, max)]));
}

function cut(value: Plain, max: number): Plain {
  if (typeof value === "string") return cutCounted(value, max);
  if (Array.isArray(value)) return value.map((item) => cut(item, max));
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return cutAll(value, max);
}
