import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeDecision, readDecisions } from "./codec.ts";
import type { Decision } from "./decision.ts";

const decision: fc.Arbitrary<Decision> = fc.record(
  {
    at: fc.nat(),
    bucket: fc.constantFrom("enrollments" as const, "revocations" as const),
    key: fc.string(),
    value: fc.uint8Array({ maxLength: 200 }),
  },
  { requiredKeys: ["at", "bucket", "key"] },
);

function fileOf(decisions: readonly Decision[]): { bytes: Buffer; ends: number[] } {
  const ends: number[] = [];
  let bytes = Buffer.alloc(0);
  for (const one of decisions) {
    bytes = Buffer.concat([bytes, encodeDecision(one, bytes.length)]);
    ends.push(bytes.length);
  }
  return { bytes, ends };
}

test("a whole file is read back", () => {
  fc.assert(
    fc.property(fc.array(decision), (decisions) => {
      const { bytes } = fileOf(decisions);
      expect(readDecisions(bytes)).toEqual({ decisions, end: bytes.length, isTorn: false, damaged: [] });
    }),
  );
});

test("a file that was cut anywhere gives every whole record, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(decision, { minLength: 1 }), fc.nat(), (decisions, at) => {
      const { bytes, ends } = fileOf(decisions);
      const cut = at % (bytes.length + 1);
      const whole = ends.filter((end) => end <= cut);
      expect(readDecisions(bytes.subarray(0, cut))).toEqual({
        decisions: decisions.slice(0, whole.length),
        end: whole.at(-1) ?? 0,
        isTorn: cut > (whole.at(-1) ?? 0),
        damaged: [],
      });
    }),
  );
});

test("a flipped bit costs the record that it is in, and no other", () => {
  fc.assert(
    fc.property(fc.array(decision, { minLength: 1 }), fc.nat(), fc.nat(7), (decisions, at, bit) => {
      const { bytes, ends } = fileOf(decisions);
      const place = at % bytes.length;
      bytes[place] = (bytes[place] ?? 0) ^ (1 << bit);
      const hit = ends.findIndex((end) => place < end);
      const found = readDecisions(bytes);
      expect(found.decisions).toEqual(decisions.toSpliced(hit, 1));
      const from = ends[hit - 1] ?? 0;
      const isLast = hit === decisions.length - 1;
      if (isLast) expect(found.end).toBe(from);
      // A length that is too great reads like a record that was cut off.
      if (found.isTorn) expect([isLast, found.damaged]).toEqual([true, []]);
      else expect(found.damaged).toEqual([{ from, to: ends[hit] ?? 0 }]);
    }),
  );
});

test("bytes of a record that look like a record do not become one when what is around them is damaged", () => {
  const forged = encodeDecision({ at: 1, bucket: "revocations", key: "UFORGED" }, 0);
  const { bytes } = fileOf([
    { at: 1, bucket: "enrollments", key: "a", value: forged },
    { at: 2, bucket: "enrollments", key: "b" },
  ]);
  bytes[0] = 0;
  expect(readDecisions(bytes).decisions.map(({ key }) => key)).toEqual(["b"]);
});
