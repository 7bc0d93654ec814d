import * as v from "valibot";
import { type IdPrefix, idPattern, isId } from "../../base/id.ts";

const maxListed = 5_000;

/**
 * The field that says how much of a list is wanted; 500 unless given.
 *
 * @param max maximum number, at least 500
 * @param items what is counted, for the description
 */
export function limitField(max: number, items = "items") {
  const outside = `must be 1 to ${max}`;
  return v.optional(
    v.pipe(
      v.number(outside),
      v.integer(outside),
      v.minValue(1, outside),
      v.maxValue(max, outside),
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
    limit: limitField(maxListed),
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
