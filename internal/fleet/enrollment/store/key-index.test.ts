import { expect, test } from "bun:test";
import fc from "fast-check";
import { createKeyIndex } from "./key-index.ts";

const ids = ["a", "b", "c"] as const;
const names: readonly string[] = ["K", "L", "M"];
const keys = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 });

test("records are found by each of their keys, in the order in which they got it", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...ids), keys), { maxLength: 20 }), (changes) => {
      const index = createKeyIndex();
      const has = new Map<string, string[]>();
      let wanted: [key: string, id: string][] = [];
      for (const [id, now] of changes) {
        index.change(id, has.get(id), now);
        has.set(id, now);
        wanted = wanted.filter(([key, owner]) => owner !== id || now.includes(key));
        for (const key of now) {
          if (!wanted.some(([known, owner]) => known === key && owner === id)) wanted.push([key, id]);
        }
        for (const key of names) {
          expect(index.of(key)).toEqual(wanted.filter(([known]) => known === key).map(([, owner]) => owner));
        }
      }
    }),
  );
});
