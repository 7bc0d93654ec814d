import * as v from "valibot";
import { fields, formOf, mapOf, oneOf, type Schema } from "../../base/document/schemas.ts";

/** The ways of matching that a top file can name, and what each puts before its target. */
const prefixes = {
  compound: "",
  glob: "",
  pcre: "E@",
  list: "L@",
  grain: "G@",
  grain_pcre: "P@",
  fact: "G@",
  pillar: "I@",
  nodegroup: "N@",
} as const;
export type Way = keyof typeof prefixes;

/** What a target of a top file has in its list: names of files, and the way of matching. */
export type TopItem = string | { readonly match: Way };

/** What is expected, as messages say it. */
export interface TopWords {
  readonly targets: string;
  readonly item: string;
  /** Said of a name without a list; absent where that is allowed, and nothing is not. */
  readonly list?: string;
  way(word: string): string;
}

/** What a section of a top file may hold: targets, each with what it gets. */
export function topSection(
  ways: readonly Way[],
  words: TopWords,
): Schema<ReadonlyMap<string, readonly TopItem[]>> {
  const way = fields(
    { match: oneOf(ways, (word) => words.way(word)) },
    { unknown: () => words.item, missing: () => words.item },
  );
  const name = v.string(words.item);
  const item: Schema<TopItem> = formOf([name, way], (value) => (value instanceof Map ? way : name));
  const several = v.nullable(v.array(item, words.list), []);
  const single = v.pipe(
    item,
    v.transform((one) => [one]),
  );
  const items = formOf([several, single], (value) =>
    Array.isArray(value) || words.list !== undefined ? several : single,
  );
  return mapOf(items, v.string(), () => words.targets);
}

/** The target of these items as an expression. */
export function topExpression(target: string, items: readonly TopItem[]): string {
  const way = items.findLast((item) => typeof item !== "string");
  return `${way === undefined ? "" : prefixes[way.match]}${target}`;
}
