import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Change } from "./entry.ts";
import { createOrderedView, type OrderedViewOptions } from "./ordered-view.ts";

interface Item {
  id: string;
  createdAt: string;
  /** The number of the write. */
  write: number;
}

const broken = Buffer.from("broken");
const encode = (item: Item) => Buffer.from(JSON.stringify(item));
const newestFirst = (a: Item, b: Item) => (a.createdAt + a.id < b.createdAt + b.id ? 1 : -1);

function viewOf(over: Partial<OrderedViewOptions<Item, Item>> = {}) {
  const gone: string[] = [];
  const unreadable: string[] = [];
  const view = createOrderedView<Item, Item>({
    read: (value) => JSON.parse(value.toString()),
    itemOf: (item) => item,
    placeOf: (item) => item,
    onGone: (id) => gone.push(id),
    onUnreadable: (id) => unreadable.push(id),
    ...over,
  });
  const page = (limit: number, after?: string) => view.page({ limit, after, show: (item) => item });
  return { view, gone, unreadable, page };
}

/** A stream that keeps the last message of each key, like the stream of a bucket. */
function bucketStream() {
  const last = new Map<string, Change>();
  let revision = 0;
  return {
    get revision() {
      return revision;
    },
    put(item: Item) {
      last.set(item.id, { key: item.id, value: encode(item), revision: ++revision, storedAt: 0 });
    },
    remove(id: string) {
      last.set(id, { key: id, revision: ++revision, storedAt: 0 });
    },
    /** What a watch delivers after it has delivered everything up to `after`. */
    since: (after: number) =>
      [...last.values()].filter((change) => change.revision > after).sort((a, b) => a.revision - b.revision),
  };
}

const id = fc.constantFrom(..."abcdefghij");
const createdAt = fc.constantFrom("2026-01-01", "2026-01-02", "2026-01-03");
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("put" as const), id, createdAt }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), id }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("deliver" as const), count: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const), count: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("look" as const) }) },
);

test("however puts, removals, deliveries, watch restarts and reads interleave, the list is sorted and correct", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 4 }), (steps, limit) => {
      const stream = bucketStream();
      const reported: number[] = [];
      const { view, page } = viewOf({ onValue: ({ write }) => reported.push(write) });
      const truth = new Map<string, Item>();
      let seen = 0;
      const deliver = (count: number) => {
        for (const change of stream.since(seen).slice(0, count)) {
          view.apply(change);
          seen = change.revision;
        }
      };
      for (const [write, one] of steps.entries()) {
        if (one.do === "put") {
          const item = { id: one.id, createdAt: one.createdAt, write };
          stream.put(item);
          truth.set(one.id, item);
        } else if (one.do === "remove") {
          stream.remove(one.id);
          truth.delete(one.id);
        } else if (one.do === "deliver") deliver(one.count);
        else if (one.do === "look") page(limit);
        else {
          // It starts again, and repeats earlier values.
          seen = 0;
          deliver(one.count);
        }
      }
      deliver(Number.POSITIVE_INFINITY);
      const expected = [...truth.values()].sort(newestFirst);
      expect(page(100)).toEqual(expected);
      expect(view.kept().map(({ item }) => item)).toEqual(expected.toReversed());

      // A repeated value is not news.
      expect(reported).toEqual([...new Set(reported)]);

      const visited: Item[] = [];
      for (let next = page(limit); next.length > 0; next = page(limit, next.at(-1)?.id))
        visited.push(...next);
      expect(visited).toEqual(expected);
    }),
  );
});

test("pages neither miss nor repeat items that existed the whole time, whatever changes meanwhile", () => {
  const others = fc.array(fc.record({ id: fc.constantFrom(..."klmno"), createdAt, gone: fc.boolean() }));
  fc.assert(
    fc.property(fc.array(fc.tuple(others, fc.integer({ min: 1, max: 3 }))), (turns) => {
      const stream = bucketStream();
      const { view, page } = viewOf();
      for (const [n, id] of [..."abcdefghij"].entries()) {
        stream.put({ id, createdAt: `2026-01-0${(n % 3) + 1}`, write: 0 });
      }
      for (const change of stream.since(0)) view.apply(change);
      const wanted = page(100).map(({ id }) => id);
      const visited: string[] = [];
      // A cursor that is removed ends the list with an error, so the cursor is one that stays.
      const isStaying = ({ id }: Item) => (id < "k" ? { id } : undefined);
      let after: string | undefined;
      for (const [changes, limit] of [...turns, [[], 100] as const]) {
        const before = stream.revision;
        for (const { gone, ...item } of changes) {
          if (gone) stream.remove(item.id);
          else stream.put({ ...item, write: 1 });
        }
        for (const change of stream.since(before)) view.apply(change);
        const found = view.page({ limit, after, show: isStaying });
        visited.push(...found.map(({ id }) => id));
        after = visited.at(-1);
      }
      expect(visited).toEqual(wanted);
    }),
  );
});

test("an unknown cursor is refused", () => {
  expect(() => viewOf().page(1, "x")).toThrow(expect.objectContaining({ kind: "bad_request" }));
});

test("an unreadable value, and one under another key, leave the item unchanged", () => {
  const { view, unreadable, page } = viewOf();
  const item = { id: "a", createdAt: "2026-01-01", write: 1 };
  view.apply({ key: "a", value: encode(item), revision: 1, storedAt: 0 });
  view.apply({ key: "a", value: broken, revision: 2, storedAt: 0 });
  view.apply({ key: "b", value: encode(item), revision: 3, storedAt: 0 });
  expect(page(10)).toEqual([item]);
  expect(unreadable).toEqual(["a", "b"]);
  view.apply({ key: "a", value: encode({ ...item, write: 2 }), revision: 4, storedAt: 0 });
  expect(page(10)).toEqual([{ ...item, write: 2 }]);
});

test("items that are too old or too many are removed, the oldest first, and the view exceeds its limit only slightly", () => {
  let oldest = "0000";
  const { view, gone, page } = viewOf({ limits: { max: 100, oldest: () => oldest } });
  for (let n = 1; n <= 1_000; n++) {
    const item = { id: `j${n}`, createdAt: String(n).padStart(4, "0"), write: n };
    view.apply({ key: item.id, value: encode(item), revision: n, storedAt: 0 });
    expect(n - gone.length).toBeLessThanOrEqual(101);
  }
  expect(page(1_000).map(({ write }) => write)).toEqual(Array.from({ length: 100 }, (_, i) => 1_000 - i));
  oldest = "0991";
  expect(page(1_000)).toHaveLength(10);
  expect(view.get("j990")).toBeUndefined();
  expect(gone).toEqual(Array.from({ length: 990 }, (_, i) => `j${i + 1}`));
});
