import { expect, test } from "bun:test";
import fc from "fast-check";
import { createSortedItems } from "./sorted-items.ts";

interface Item {
  key: string;
  rank: number;
}

const compare = (a: Item, b: Item) => a.rank - b.rank || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
const key = fc.constantFrom(..."abcdefghijklmnop");
const rank = fc.nat(5);
const step = fc.oneof(
  fc.record({ do: fc.constant("set" as const), key, rank }),
  fc.record({ do: fc.constant("delete" as const), key, rank }),
  fc.record({ do: fc.constant("look" as const), key, rank }),
);

test("after any changes and looks the list is the sorted truth", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const items = createSortedItems<Item>(compare);
      const truth = new Map<string, Item>();
      for (const { do: what, key, rank } of [...steps, { do: "look", key: "", rank: 0 } as const]) {
        if (what === "set") {
          const item = { key, rank };
          items.set(key, item);
          truth.set(key, item);
        } else if (what === "delete") {
          items.delete(key);
          truth.delete(key);
        } else {
          const expected = [...truth.values()].sort(compare);
          expect(items.values()).toEqual(expected);
          expect(items.size).toBe(truth.size);
          expect(items.first()).toEqual(expected[0]);
          expect([...items.backwards()]).toEqual(expected.toReversed());
          for (const [at, item] of expected.entries()) {
            expect([...items.backwards(item)]).toEqual(expected.slice(0, at).reverse());
          }
        }
      }
    }),
  );
});

test("many changes at once are put in place as well", () => {
  const many = fc.uniqueArray(fc.nat(500), { minLength: 65, maxLength: 300 });
  fc.assert(
    fc.property(many, many, (first, second) => {
      const items = createSortedItems<Item>(compare);
      const itemOf = (n: number) => ({ key: `k${n}`, rank: (n * 7919) % 501 });
      const truth = new Set(first);
      for (const n of first) items.set(`k${n}`, itemOf(n));
      expect(items.values()).toEqual([...truth].map(itemOf).sort(compare));
      for (const n of second) {
        if (truth.delete(n)) items.delete(`k${n}`);
        else {
          truth.add(n);
          items.set(`k${n}`, itemOf(n));
        }
      }
      expect(items.values()).toEqual([...truth].map(itemOf).sort(compare));
    }),
  );
});

test("the list is the same until something changes, and a list that was taken stays as it was", () => {
  const ids = createSortedItems<string>((a, b) => (a < b ? -1 : 1));
  for (const id of ["c", "a"]) ids.set(id, id);
  const before = ids.values();
  ids.set("a", "a");
  ids.delete("x");
  expect(ids.values()).toBe(before);
  ids.set("b", "b");
  expect([before, ids.values()]).toEqual([
    ["a", "c"],
    ["a", "b", "c"],
  ]);
});

test("more changes than wait for a look are in order as well", () => {
  const items = createSortedItems<Item>(compare);
  const truth = new Map<string, Item>();
  for (let n = 0; n < 6_000; n++) {
    const item = { key: `k${(n * 7919) % 2_500}`, rank: (n * 104_729) % 1_000 };
    items.set(item.key, item);
    truth.set(item.key, item);
    if (n % 5 === 4 && truth.delete(`k${n % 2_500}`)) items.delete(`k${n % 2_500}`);
  }
  expect(items.values()).toEqual([...truth.values()].sort(compare));
});
