import { expect, test } from "bun:test";
import fc from "fast-check";
import { inOrder } from "./merge.ts";

const message = fc.record({ storedAt: fc.integer({ min: 0, max: 20 }) });
const stored = fc
  .array(message, { maxLength: 12 })
  .map((all) => all.toSorted((a, b) => a.storedAt - b.storedAt));

test("part after part, all messages come out once, in the order of their times", () => {
  fc.assert(
    fc.property(fc.tuple(stored, stored, stored), fc.integer({ min: 1, max: 4 }), (streams, count) => {
      const next = [0, 0, 0];
      const out: { stream: string; at: number; storedAt: number }[] = [];
      for (;;) {
        const readings = streams.map((all, stream) => ({
          stream: String(stream),
          messages: all.slice(next[stream], (next[stream] ?? 0) + count),
          isWhole: (next[stream] ?? 0) + count >= all.length,
        }));
        const part = [...inOrder(readings)];
        if (part.length === 0) break;
        for (const { stream, message: found } of part) {
          const at = next[Number(stream)] ?? 0;
          expect(found).toBe(streams[Number(stream)]?.[at] as never);
          out.push({ stream, at, storedAt: found.storedAt });
          next[Number(stream)] = at + 1;
        }
      }
      expect(next).toEqual(streams.map(({ length }) => length));
      expect(out.map(({ storedAt }) => storedAt)).toEqual(
        out.map(({ storedAt }) => storedAt).toSorted((a, b) => a - b),
      );
    }),
  );
});
