import type { ShownEvent } from "../../fleet/events/mod.ts";
import type { Page } from "./client.ts";
import { isBehind, type List, type Order, withItems } from "./list.ts";
import type { Reading } from "./reader.ts";

/** A list that masters give in pages. */
export interface Paged<Item> extends Order<Item> {
  /** @param cursor the id of the last item on the page before; absent for the first page */
  page(cursor: string | undefined, signal: AbortSignal): Promise<Page<readonly Item[]>>;
  /** Reads the items that have these ids, and are in the list now. */
  these(ids: readonly string[], signal: AbortSignal): Promise<readonly Item[]>;
  /** The ids of the items that an event may have changed. */
  changedBy(event: ShownEvent): readonly string[];
  /** Items at which it stops: the rest is not read. */
  max: number;
  /** The items that the reader sees now. */
  inSight?: { readonly current: readonly Item[] };
}

/** How far a list was renewed: the item behind which the next page begins. */
export interface Renewal<Item> {
  behind: Item | undefined;
}

/** Up to this number, changed items are read one by one; with more, the whole list is read. */
const maxChanged = 1_000;

/**
 * Reads such a list: once all of it, and then what events say that changed. Every 15 seconds, the items in sight are
 * read again, and one page after the other, for what no event tells.
 *
 * @param renewal belongs to this list, and is kept between its reads
 */
export function pagedReading<Item>(paged: Paged<Item>, renewal: Renewal<Item>): Reading<List<Item>> {
  const { idOf, placeOf, max } = paged;
  const withThese = async (list: List<Item>, ids: readonly string[], signal: AbortSignal) => {
    if (ids.length === 0) return list;
    const requested = new Set(ids);
    const these = await paged.these([...requested], signal);
    return withItems(list, (item) => requested.has(idOf(item)), these, paged);
  };
  return {
    load: (signal) => everyPage((cursor) => paged.page(cursor, signal), max),
    async change(before, events, signal) {
      const ids = new Set(events.flatMap((event) => paged.changedBy(event)));
      return ids.size > maxChanged ? undefined : withThese(before, [...ids], signal);
    },
    async renew(before, signal) {
      const { behind } = renewal;
      const page = await paged.page(behind === undefined ? undefined : idOf(behind), signal);
      const last = page.next === undefined ? undefined : page.items.at(-1);
      const isAfter = (item: Item, other: Item) => isBehind(placeOf(item), placeOf(other), paged);
      // Where a list ends that is not known as a whole, it begins again.
      const end = before.items.at(-1);
      renewal.behind = last !== undefined && end !== undefined && isAfter(end, last) ? last : undefined;
      const covers = (item: Item) =>
        (behind === undefined || isAfter(item, behind)) && (last === undefined || !isAfter(item, last));
      const renewed = withItems(before, covers, page.items, paged);
      const seen = (paged.inSight?.current ?? []).filter((item) => !covers(item));
      return withThese(renewed, seen.map(idOf), signal);
    },
  };
}

/**
 * All items of a list, page after page.
 *
 * @param max items at which it stops; the second part of the answer says whether there are more
 */
export async function everyPage<Item>(
  read: (cursor: string | undefined) => Promise<Page<readonly Item[]>>,
  max: number,
): Promise<List<Item>> {
  const items: Item[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor);
    items.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) return { items, more: false };
    if (items.length >= max) return { items, more: true };
  }
}
