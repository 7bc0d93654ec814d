import * as v from "valibot";
import type { Plain } from "../../base/msgpack.ts";

// What schemas of operations are made of. Titles and descriptions go into the description of the interface.

/** A value with a sentence about it, without a full stop. */
export function described<const Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

/** A schema with a name of its own in the description of the interface. */
export function titled<const Schema extends v.GenericSchema>(title: string, schema: Schema) {
  return v.pipe(schema, v.title(title));
}

export const integer = v.pipe(v.number(), v.integer());
/** RFC 3339. */
export const timestamp = v.pipe(v.string(), v.isoTimestamp());
/** Anything a message can hold. */
export const plain = v.custom<Plain>(() => true);
/** A map of anything. */
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
 * The fields that choose a page of a list.
 *
 * @param isCursor whether a text can be the id of what is listed
 */
export function pageFields(isCursor: (text: string) => boolean) {
  const outside = `must be 1 to ${mostListed}`;
  return {
    limit: v.optional(
      v.pipe(
        v.number(outside),
        v.integer(outside),
        v.minValue(1, outside),
        v.maxValue(mostListed, outside),
        v.description("How many at most"),
      ),
      500,
    ),
    cursor: v.optional(
      v.pipe(
        v.string(),
        v.check(isCursor, "must be the one that the page before named"),
        v.description("Where the page begins, from the page before"),
      ),
    ),
  };
}

/**
 * Cuts a page out of what was found.
 *
 * @param found one item more than the page holds when the list goes on
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
