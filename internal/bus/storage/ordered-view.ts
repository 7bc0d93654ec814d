import { SvcError } from "../../base/errors.ts";
import { createSortedItems } from "../../base/sorted-items.ts";
import type { Change } from "./entry.ts";

/** An item of a view. */
export interface Kept<Item> {
  /** Its key in the bucket. */
  readonly id: string;
  readonly item: Item;
  readonly revision: number;
}

/** The content of a bucket, in memory, in the order of creation. */
export interface OrderedView<Item> {
  /** Applies a change of the bucket. Changes that a watch repeats have no effect. */
  apply(change: Change): void;
  get(id: string): Kept<Item> | undefined;
  /** Oldest first; the same list until something changes. */
  kept(): readonly Kept<Item>[];
  /**
   * The newest items first, in the form for display.
   *
   * @throws SvcError `bad_request` when the ID to start after is unknown
   */
  page<Shown extends object>(query: PageQuery<Item, Shown>): Shown[];
}

export interface PageQuery<Item, Shown> {
  /** Maximum number of items. */
  limit: number;
  /** The ID of the last item of the previous page. */
  after?: string | undefined;
  /** The form for display; `undefined` when the item does not belong to the list. */
  show(item: Item): Shown | undefined;
}

export interface OrderedViewOptions<Value, Item> {
  /**
   * Reads a stored value. An unreadable value leaves the item unchanged.
   *
   * @param before what is kept of this key now
   * @throws when it is malformed
   */
  read(value: Uint8Array, before: Item | undefined, change: Pick<Change, "key" | "revision">): Value;
  /** The part of a value to keep. */
  itemOf(value: Value): Item;
  /** @returns the ID, which is the key, and the time of creation as text that sorts by time */
  placeOf(item: Item): { id: string; createdAt: string };
  /** Called with each new value. */
  onValue?(value: Value, kept: Kept<Item>, before: Item | undefined): void;
  /** Called when an item was removed, or became too old. */
  onGone?(id: string, item: Item): void;
  onUnreadable(id: string, thrown: unknown): void;
  /** For a bucket that removes old values without an event. */
  limits?: {
    /** Maximum number of items; the oldest ones are removed first. */
    max: number;
    /** Items that were created before this time are removed. */
    oldest(): string;
  };
}

type Placed<Item> = Kept<Item> & { readonly createdAt: string };

/** Makes an empty view; its owner feeds it from a watch. It sends no requests. */
export function createOrderedView<Value, Item>(options: OrderedViewOptions<Value, Item>): OrderedView<Item> {
  const { limits } = options;
  const items = createSortedItems<Placed<Item>>(
    (a, b) => compareTexts(a.createdAt, b.createdAt) || compareTexts(a.id, b.id),
  );
  const forget = ({ id, item }: Placed<Item>) => {
    items.delete(id);
    options.onGone?.(id, item);
  };
  const trim = () => {
    if (limits === undefined) return;
    const oldest = limits.oldest();
    for (let first = items.first(); first !== undefined; first = items.first()) {
      if (items.size <= limits.max && first.createdAt >= oldest) return;
      forget(first);
    }
  };
  /** Checking the order is expensive: a hundredth of the items is removed at a time. */
  const isFull = () => limits !== undefined && items.size > limits.max * 1.01;
  const read = (
    { key, revision }: Pick<Change, "key" | "revision">,
    bytes: Uint8Array,
    before: Placed<Item> | undefined,
  ) => {
    const value = options.read(bytes, before?.item, { key, revision });
    const item = options.itemOf(value);
    const { id, createdAt } = options.placeOf(item);
    if (id !== key) throw new SvcError("internal", `it is the record of ${id}`);
    return { value, item, id, createdAt };
  };
  return {
    apply({ key, value: bytes, revision }) {
      const before = items.get(key);
      if (before !== undefined && before.revision >= revision) return;
      if (bytes === undefined) {
        if (before !== undefined) forget(before);
        return;
      }
      let found: ReturnType<typeof read>;
      try {
        found = read({ key, revision }, bytes, before);
      } catch (thrown) {
        return options.onUnreadable(key, thrown);
      }
      const { value, item, createdAt } = found;
      // Keep the ID of the value: the key is a slice of a message, and would keep the whole message in
      // memory.
      const placed = { id: before?.id ?? found.id, item, revision, createdAt };
      items.set(placed.id, placed);
      options.onValue?.(value, placed, before?.item);
      if (isFull()) trim();
    },
    get: (id) => items.get(id),
    kept() {
      trim();
      return items.values();
    },
    page<Shown extends object>({ limit, after, show }: PageQuery<Item, Shown>) {
      trim();
      const last = after === undefined ? undefined : items.get(after);
      if (after !== undefined && last === undefined) {
        throw new SvcError("bad_request", "cursor must be the value that the previous page returned");
      }
      const found: Shown[] = [];
      for (const { item } of items.backwards(last)) {
        if (found.length >= limit) break;
        const shown = show(item);
        if (shown !== undefined) found.push(shown);
      }
      return found;
    },
  };
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
