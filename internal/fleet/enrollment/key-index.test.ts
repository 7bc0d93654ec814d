import { expect, test } from "bun:test";
import fc from "fast-check";
import { createKeyIndex } from "./key-index.ts";

const keys = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 });

test("finds exactly the records that have a key now", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("1", "2", "3"), keys)), (changes) => {
      const index = createKeyIndex();
      const held = new Map<string, string[]>();
      for (const [id, now] of changes) {
        index.change(id, held.get(id), now);
        held.set(id, now);
      }
      for (const key of ["a", "b", "c"]) {
        const having = [...held].filter(([, one]) => one.includes(key)).map(([id]) => id);
        expect([...index.of(key)].sort()).toEqual(having.sort());
      }
    }),
  );
});
