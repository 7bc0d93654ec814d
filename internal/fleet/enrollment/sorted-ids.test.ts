import { expect, test } from "bun:test";
import fc from "fast-check";
import { createSortedIds } from "./sorted-ids.ts";

const change = fc.record({ add: fc.boolean(), id: fc.integer({ min: 0, max: 150 }).map((n) => `id-${n}`) });

test("the list is what sorting the set gives, after few changes and after many", () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 200 }), { maxLength: 6 }), (batches) => {
      const ids = createSortedIds();
      const naive = new Set<string>();
      for (const batch of batches) {
        for (const { add, id } of batch) {
          if (add) {
            ids.add(id);
            naive.add(id);
          } else {
            ids.delete(id);
            naive.delete(id);
          }
        }
        expect(ids.values()).toEqual([...naive].sort());
      }
    }),
  );
});
