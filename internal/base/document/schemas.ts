import * as v from "valibot";
import { quote } from "../cut.ts";
import { parseDuration, sayDuration } from "../duration.ts";
import { SvcError } from "../errors.ts";
import type { Plain } from "../msgpack.ts";
import { suggestion } from "../nearest.ts";
import { kindOf, plainOf } from "./written.ts";

/**
 * What a value of a document may be. The input is what `writtenOf` returns, so maps are read by `fields` and `mapOf`
 * only: the objects of valibot would accept lists, and pass over keys such as `constructor`.
 */
export type Schema<T> = v.GenericSchema<unknown, T>;
type Values<Entries extends v.ObjectEntries> = v.InferOutput<v.StrictObjectSchema<Entries, undefined>>;

/** A map with these keys and no others. One that is not known comes before one that is missing: it may be misspelt. */
export function fields<const Entries extends v.ObjectEntries>(
  entries: Entries,
  {
    unknown = unknownKey(Object.keys(entries)),
    missing = (key: string) => `${key} is required`,
    another = notAMap,
  } = {},
): Schema<Values<Entries>> {
  const schema = v.strictObject(entries, ({ path }) => missing(String(path?.[0]?.key)));
  return {
    ...schema,
    "~run"({ value }, config) {
      if (!(value instanceof Map)) return refused(value, another(kindOf(value)), config);
      const stray = [...value.keys()].find((key) => !Object.hasOwn(entries, key));
      if (stray === undefined) return schema["~run"]({ value: Object.fromEntries(value) }, config);
      return refused(value, unknown(stray), config, pathItem(value, stray, "key"));
    },
  };
}

/** The problem of a key that is not known. */
export function unknownKey(known: readonly string[], noun = "key"): (key: string) => string {
  return (key) => `unknown ${noun} ${quote(key, 60)}${suggestion(key, known)}; known are ${known.join(", ")}`;
}

/** A map with any keys, in their order. */
export function mapOf<T>(
  value: Schema<T>,
  key: v.GenericSchema<string> = v.string(),
  another = notAMap,
): Schema<ReadonlyMap<string, T>> {
  const schema = v.custom<ReadonlyMap<string, T>>(() => true);
  // For the conversion to JSON Schema this is a record, whose key and value it reads.
  const record = { ...schema, type: "record", key, value };
  return {
    ...record,
    "~run"({ value: map }, config) {
      if (!(map instanceof Map)) return refused(map, another(kindOf(map)), config);
      const values = new Map<string, T>();
      const issues: v.BaseIssue<unknown>[] = [];
      for (const [name, given] of map) {
        const named = key["~run"]({ value: name }, config);
        const read = value["~run"]({ value: given }, config);
        for (const issue of named.issues ?? []) issues.push({ ...issue, path: [pathItem(map, name, "key")] });
        for (const issue of read.issues ?? []) {
          issues.push({ ...issue, path: [pathItem(map, name, "value"), ...(issue.path ?? [])] });
        }
        if (read.typed) values.set(name, read.value);
        if (issues.length > 0 && config.abortEarly === true) break;
      }
      const [first, ...rest] = issues;
      return first === undefined
        ? { typed: true, value: values }
        : { typed: false, value: values, issues: [first, ...rest] };
    },
  };
}

const notAMap = (found: string) => `expected a map, found ${found}`;

function refused(
  input: unknown,
  message: string,
  config: v.Config<v.BaseIssue<unknown>>,
  ...path: v.UnknownPathItem[]
): v.OutputDataset<never, v.BaseIssue<unknown>> {
  const [first, ...rest] = path;
  const issue = {
    kind: "schema",
    type: "map",
    expected: null,
    received: kindOf(input),
    input,
    message,
  } as const;
  return {
    typed: false,
    value: input,
    issues: [{ ...config, ...issue, path: first && [first, ...rest] }],
  };
}

/** A map with any keys and values, as an object. */
export function plainMap(): Schema<Record<string, Plain>> {
  return v.pipe(
    mapOf(v.unknown()),
    v.transform((written) => plainOf(written) as Record<string, Plain>),
  );
}

/** A list of at most `max` items. */
export function list<T>(item: Schema<T>, max = Number.POSITIVE_INFINITY): Schema<T[]> {
  const items = v.array(item);
  return max === Number.POSITIVE_INFINITY ? items : v.pipe(items, v.maxLength(max, `more than ${max} items`));
}

/** One item, or a list of at least one. @param empty what is wrong with an empty list */
export function oneOrMore<T>(item: Schema<T>, max: number, empty: string): Schema<T[]> {
  const one = v.pipe(
    item,
    v.transform((single) => [single]),
  );
  const several = v.pipe(list(item, max), v.minLength(1, empty));
  return formOf([one, several], (value) => (Array.isArray(value) ? several : one));
}

/** A string of 1 to `max` characters. */
export function text(max: number) {
  const expected = `expected 1 to ${max} characters`;
  return v.pipe(v.string(), v.minLength(1, expected), v.maxLength(max, expected));
}

/** The absolute path of a file. */
export function absolutePath() {
  const message = "expected the absolute path of a file, not its content";
  return v.pipe(text(4_096), v.regex(/^\/[^\r\n\0]*$/, message));
}

/** One of several words. @param unknown says what is wrong with another one */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  unknown = (text: string) =>
    `expected one of ${words.join(", ")}, not ${quote(text, 40)}${suggestion(text, words)}`,
): Schema<Word> {
  return v.picklist(words, ({ input }) =>
    typeof input === "string" ? unknown(input) : `expected a string, found ${kindOf(input)}`,
  );
}

/** A whole number within inclusive bounds. */
export function integer(min: number, max: number, noun = "whole number"): Schema<number> {
  const expected = `expected a ${noun} from ${min} to ${max}`;
  const outside = ({ input }: { input: unknown }) => `${expected}, not ${input}`;
  return v.pipe(
    v.number(({ input }) => `${expected}, found ${kindOf(input)}`),
    v.integer(outside),
    v.minValue(min, outside),
    v.maxValue(max, outside),
  );
}

/** A duration within inclusive bounds; in milliseconds. */
export function duration(minMs: number, maxMs = Number.POSITIVE_INFINITY): Schema<number> {
  const range =
    maxMs === Number.POSITIVE_INFINITY
      ? `expected ${sayDuration(minMs)} or longer`
      : `expected ${sayDuration(minMs)} to ${sayDuration(maxMs)}`;
  return v.pipe(
    v.union(
      [v.string(), v.number()],
      ({ input }) => `expected a duration such as 90s or 1h30m, found ${kindOf(input)}`,
    ),
    readBy((written) => parseDuration(String(written))),
    v.minValue(minMs, range),
    v.maxValue(maxMs, range),
  );
}

/**
 * One of several forms; the value shows which one is meant. Problems are then reported for this form, not for all of
 * them.
 */
export function formOf<const Options extends readonly Schema<unknown>[]>(
  options: Options,
  choose: (value: unknown) => Options[number],
): Schema<v.InferOutput<Options[number]>> {
  const schema: Schema<v.InferOutput<Options[number]>> = v.union(options);
  return { ...schema, "~run": (dataset, config) => choose(dataset.value)["~run"](dataset, config) };
}

/** Reads a value by a function whose refusal is the problem of the value. */
export function readBy<In, Out>(read: (value: In) => Out): v.RawTransformAction<In, Out> {
  return v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const outcome = attempt(() => read(dataset.value));
    if ("value" in outcome) return outcome.value;
    addIssue({ message: outcome.problem });
    return NEVER;
  });
}

/** What is wrong, and where in the value, if it is not all of it. */
export type Problem =
  | string
  | { readonly message: string; readonly at: readonly (string | number)[]; readonly isKey?: true };

/** Refuses a value for which the function returns a problem, or throws one. */
export function refuse<In>(problemOf: (value: In) => Problem | undefined): v.RawCheckAction<In> {
  return v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const outcome = attempt(() => problemOf(dataset.value));
    const problem = "value" in outcome ? outcome.value : outcome.problem;
    if (problem === undefined) return;
    if (typeof problem === "string") addIssue({ message: problem });
    else {
      const origin = problem.isKey === true ? "key" : "value";
      const [first, ...rest] = problem.at.map((key) => pathItem(dataset.value, key, origin));
      addIssue({ message: problem.message, path: first && [first, ...rest] });
    }
  });
}

function attempt<T>(run: () => T): { value: T } | { problem: string } {
  try {
    return { value: run() };
  } catch (thrown) {
    if (thrown instanceof SvcError) return { problem: thrown.message };
    throw thrown;
  }
}

function pathItem(input: unknown, key: string | number, origin: "key" | "value"): v.UnknownPathItem {
  return { type: "unknown", input, key, value: undefined, origin };
}
