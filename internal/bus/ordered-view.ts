import { SvcError } from "../base/errors.ts";
import { createSortedItems } from "../base/sorted-items.ts";
import type { Change } from "./bucket.ts";

/** An item as a view keeps it. */
export interface Kept<Item> {
  /** Its key in the bucket. */
  readonly id: string;
  readonly item: Item;
  readonly revision: number;
}

/** What a bucket holds, in memory, in the order of creation. */
export interface OrderedView<Item> {
  /** Takes a change of the bucket. Those that were seen before, as a watch repeats them, change nothing. */
  apply(change: Change): void;
  get(id: string): Kept<Item> | undefined;
  /** Oldest first; the same list until something changes. */
  kept(): readonly Kept<Item>[];
  /**
   * The newest items first, as they are shown.
   *
   * @throws SvcError `bad_request` when the id to begin after is not known
   */
  page<Shown extends object>(query: PageQuery<Item, Shown>): Shown[];
}

export interface PageQuery<Item, Shown> {
  /** How many at most. */
  limit: number;
  /** The id of the last item of the page before. */
  after?: string | undefined;
  /** What is shown of an item; `undefined` when it does not belong to the list. */
  show(item: Item): Shown | undefined;
}

export interface OrderedViewOptions<Value, Item> {
  /**
   * Reads a stored value. One that cannot be read leaves the item as it was.
   *
   * @param before what is kept of the key now
   * @throws when it is malformed
   */
  read(value: Uint8Array, before: Item | undefined, change: Pick<Change, "key" | "revision">): Value;
  /** What is kept of a value. */
  itemOf(value: Value): Item;
  /** @returns the id, which is the key, and when it was created: a text that sorts as time does */
  placeOf(item: Item): { id: string; createdAt: string };
  /** Called with each new value. */
  onValue?(value: Value, kept: Kept<Item>, before: Item | undefined): void;
  /** Called when an item was removed, or is too old to be kept. */
  onGone?(id: string, item: Item): void;
  onUnreadable(id: string, thrown: unknown): void;
  /** For a bucket that removes old values without a word. */
  limits?: {
    /** How many items are kept; of more the oldest go. */
    most: number;
    /** Items that were created before this go. */
    oldest(): string;
  };
}

type Placed<Item> = Kept<Item> & { readonly createdAt: string };

/** Makes an empty view; its owner feeds it from a watch. It never asks the bus. */
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
      if (items.size <= limits.most && first.createdAt >= oldest) return;
      forget(first);
    }
  };
  /** Looking at the order costs: of too many items a hundredth goes at a time. */
  const isFull = () => limits !== undefined && items.size > limits.most * 1.01;
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
      // Texts that stay are the value's own: a key is a part of a message, and would keep all of it.
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
        throw new SvcError("bad_request", "cursor must be the one that the page before named");
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
