import { expect, test } from "bun:test";
import fc from "fast-check";
import { newId } from "../../base/id.ts";
import { shortIds } from "./short-ids.ts";

const id = (end: string) => `enr-3MRxAb12Cd${end.padStart(17, "0")}`;

test("an id is shortened to what tells it from the others, and not further than eight characters", () => {
  const [one, two, other] = [id("a"), id("b"), `job-3MRxAb12Cd${"0".repeat(17)}`];
  expect(shortIds([one, other, "-", "enr-3MRx", one])).toEqual(
    new Map([
      ["-", "-"],
      [one, "enr-3MRxAb12"],
      ["enr-3MRx", "enr-3MRx"],
      [other, "job-3MRxAb12"],
    ]),
  );
  expect(shortIds([one, two]).get(one)).toBe(one);
});

test("what is shown is the beginning of one id only", () => {
  const ids = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 2 }), fc.uint8Array({ minLength: 16, maxLength: 16 })),
  );
  fc.assert(
    fc.property(ids, (made) => {
      const all = new Set(made.map(([second, bytes]) => newId("job", 1.7e12 + second * 1000, () => bytes)));
      const short = shortIds(all);
      for (const shown of short.values()) {
        expect([...all].filter((one) => one.startsWith(shown))).toHaveLength(1);
      }
    }),
  );
});
