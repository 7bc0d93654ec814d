import { expect, test } from "bun:test";
import fc from "fast-check";
import { type List, withHead, withItems } from "./list.ts";

interface Item {
  id: string;
  text: string;
}
const idOf = ({ id }: Item) => id;
const item = (id: string, text = "") => ({ id, text });
const listOf = (ids: string, more = false): List<Item> => ({ items: [...ids].map((id) => item(id)), more });

const ids = fc.uniqueArray(fc.constantFrom(..."abcdefghijkl"), { maxLength: 12 });
const items = ids.chain((some) =>
  fc
    .array(fc.constantFrom("x", "y"), { minLength: some.length, maxLength: some.length })
    .map((texts) => some.toSorted().map((id, at) => item(id, texts[at]))),
);

const order = (falls: boolean) => ({ idOf, placeOf: idOf, falls });

test.each([false, true])(
  "what was read again is as masters have it, and the rest stays; falls: %p",
  (falls) => {
    const ordered = (some: Item[]) => (falls ? some.toReversed() : some);
    fc.assert(
      fc.property(items, items, ids, (rising, others, requested) => {
        const [known, truth] = [ordered(rising), ordered(others)];
        const covers = ({ id }: Pick<Item, "id">) => requested.includes(id);
        const before = { items: known, more: false };
        const after = withItems(before, covers, truth.filter(covers), order(falls));
        const wanted = [...known.filter((one) => !covers(one)), ...truth.filter(covers)];
        expect(after.items).toEqual(ordered(wanted.toSorted((a, b) => (a.id < b.id ? -1 : 1))));
        // What is equal is the same object, and so is a list of which nothing changed.
        for (const one of after.items) {
          const same = known.find(({ id, text }) => id === one.id && text === one.text);
          if (same !== undefined) expect(one).toBe(same);
        }
        if (after.items.length === known.length && after.items.every((one, at) => one === known[at])) {
          expect(after).toBe(before);
        }
      }),
    );
  },
);

test("behind the end of a part of a list nothing is added", () => {
  const found = [item("a"), item("b"), item("z")];
  const after = (ids: string, falls: boolean) =>
    withItems(listOf(ids, true), () => true, found, order(falls));
  expect(after("bc", false)).toEqual(listOf("ab", true));
  expect(after("yb", true)).toEqual(listOf("zb", true));
});

test("the first page is put before the rest that it reaches", () => {
  const list = listOf("fedcba", true);
  expect(withHead(list, { items: [item("g"), item("f"), item("e")], next: "e" }, idOf)).toEqual(
    listOf("gfedcba", true),
  );
  // One is gone, and one has changed.
  expect(withHead(list, { items: [item("f", "new"), item("d")], next: "d" }, idOf)?.items).toEqual([
    item("f", "new"),
    ...listOf("dcba").items,
  ]);
  expect(withHead(list, { items: [item("f"), item("e")], next: "e" }, idOf)).toBe(list);
  // Between what was read and what is known there can be more.
  expect(withHead(list, { items: [item("i"), item("h")], next: "h" }, idOf)).toBeUndefined();
  // A page without a next one is all there is.
  expect(withHead(list, { items: [item("b")] }, idOf)).toEqual(listOf("b"));
  expect(withHead(listOf("b"), { items: [item("b")] }, idOf)?.items).toEqual([item("b")]);
});
