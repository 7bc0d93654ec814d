import type { Page } from "./client.ts";

/** Items that a page knows of a list. */
export interface List<Item> {
  items: readonly Item[];
  /** Whether the list continues behind them. */
  more: boolean;
}

/** How a list is ordered. */
export interface Order<Item> {
  idOf(item: Item): string;
  /** A text by which the list is sorted; no two items have the same. */
  placeOf(item: Item): string;
  falls: boolean;
}

/** Whether an item at this place comes after one at the other place. */
export const isBehind = (place: string, other: string, { falls }: Pick<Order<never>, "falls">): boolean =>
  falls ? place < other : place > other;

/**
 * A list with what was read again of it. Items that are the same stay the same objects, and so does the list: what
 * did not change is not drawn again.
 *
 * @param covers whether a known item would be in `found`, if it were still in the list
 */
export function withItems<Item>(
  list: List<Item>,
  covers: (item: Item) => boolean,
  found: readonly Item[],
  order: Order<Item>,
): List<Item> {
  const { idOf, placeOf } = order;
  const fresh = new Map(found.map((item) => [idOf(item), item]));
  let isSame = true;
  const items: Item[] = [];
  for (const item of list.items) {
    const id = idOf(item);
    const read = fresh.get(id);
    fresh.delete(id);
    const next = read === undefined ? (covers(item) ? undefined : item) : eldest(item, read);
    if (next !== undefined) items.push(next);
    isSame &&= next === item;
  }
  const last = list.items.at(-1);
  for (const item of fresh.values()) {
    // What is behind the last one that is known would leave a gap before it.
    if (list.more && last !== undefined && isBehind(placeOf(item), placeOf(last), order)) continue;
    items.push(item);
    isSame = false;
  }
  if (isSame) return list;
  if (fresh.size > 0) items.sort((one, other) => (isBehind(placeOf(other), placeOf(one), order) ? -1 : 1));
  return { items, more: list.more };
}

/**
 * A list whose first page was read again.
 *
 * @param page in the order of the list
 * @returns `undefined` when it does not reach what is known: there can be more between them
 */
export function withHead<Item>(
  list: List<Item>,
  page: Page<readonly Item[]>,
  idOf: (item: Item) => string,
): List<Item> | undefined {
  const last = page.items.at(-1);
  const isWhole = page.next === undefined;
  const end = isWhole
    ? list.items.length
    : list.items.findIndex((item) => last !== undefined && idOf(item) === idOf(last)) + 1;
  if (!isWhole && end === 0) return undefined;
  const before = new Map(list.items.slice(0, end).map((item) => [idOf(item), item]));
  const fresh = page.items.map((item) => eldest(before.get(idOf(item)), item));
  const more = !isWhole && list.more;
  const isSame = fresh.length === end && fresh.every((item, place) => item === list.items[place]);
  return isSame && more === list.more ? list : { items: [...fresh, ...list.items.slice(end)], more };
}

/** Of two items with the same content the one that is known already. Masters write their fields in one order. */
function eldest<Item>(known: Item | undefined, read: Item): Item {
  return known !== undefined && JSON.stringify(known) === JSON.stringify(read) ? known : read;
}
