import * as v from "valibot";
import { type IdPrefix, idPattern, isId } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";

// Building blocks for the schemas of operations. Titles and descriptions appear in the description of the
// interface.

/** A value with a description of one sentence, without a full stop. */
export function described<const Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

/**
 * A schema with a name of its own in the description of the interface.
 *
 * @param rules keywords of JSON Schema for what `schema` does not check itself
 */
export function titled<const Schema extends v.GenericSchema>(
  title: string,
  schema: Schema,
  rules: Readonly<Record<string, unknown>> = {},
) {
  return v.pipe(schema, v.title(title), v.metadata(rules));
}

export const integer = v.pipe(v.number(), v.integer());
/** RFC 3339. */
export const timestamp = v.pipe(v.string(), v.isoTimestamp());

const digestBytes = 32;
const digestText = "^[0-9a-f]{64}$";
/** What is known of it before it becomes bytes; a description after that would be lost. */
const eitherDigest = v.pipe(
  v.custom<Uint8Array | string>(
    (value) =>
      (value instanceof Uint8Array && value.length === digestBytes) ||
      (typeof value === "string" && new RegExp(digestText).test(value)),
    `must be ${digestBytes} bytes, or ${2 * digestBytes} hexadecimal digits`,
  ),
  v.metadata({ type: "string", pattern: digestText }),
);
const toBytes = (value: Uint8Array | string) =>
  typeof value === "string" ? Buffer.from(value, "hex") : value;
/** A SHA-256. Over the bus it is bytes, and as JSON text. */
export const digest = v.pipe(eitherDigest, v.transform(toBytes));
/** The same, and what it is of. */
export const describedDigest = (description: string) =>
  v.pipe(eitherDigest, v.description(description), v.transform(toBytes));
/** Any value that a message can hold. */
export const plain = v.custom<Plain>(() => true);
/** A map of any values. */
export const plainMap = v.pipe(
  v.custom<Record<string, Plain>>(
    (value) =>
      typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array),
    "must be an object",
  ),
  v.metadata({ type: "object", additionalProperties: {} }),
);

const mostListed = 5_000;

/**
 * The field that says how much of a list is wanted; 500 unless given.
 *
 * @param most maximum number, at least 500
 * @param items what is counted, for the description
 */
export function limitField(most: number, items = "items") {
  const outside = `must be 1 to ${most}`;
  return v.optional(
    v.pipe(
      v.number(outside),
      v.integer(outside),
      v.minValue(1, outside),
      v.maxValue(most, outside),
      v.description(`Maximum number of ${items}`),
    ),
    500,
  );
}

/**
 * The fields that choose a page of a list.
 *
 * @param listed the kind of the listed items; the ID of one is the cursor
 */
export function pageFields(listed: IdPrefix) {
  return {
    limit: limitField(mostListed),
    cursor: v.optional(
      v.pipe(
        v.string(),
        v.check((text) => isId(listed, text), "must be the value that the previous page returned"),
        v.metadata({ pattern: idPattern(listed) }),
        v.description("Where the page starts, from the previous page"),
      ),
    ),
  };
}

/**
 * Cuts a page out of the items.
 *
 * @param found one item more than the page holds, when the list continues
 * @returns the page, and as `next` the cursor of the next one when there is one
 */
export function pageOf<T>(
  found: readonly T[],
  limit: number,
  idOf: (item: T) => string,
): { items: T[]; next?: string } {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length <= limit || last === undefined ? { items } : { items, next: idOf(last) };
}
