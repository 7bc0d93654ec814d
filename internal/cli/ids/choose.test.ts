import { expect, test } from "bun:test";
import { chooseOne, isShortId } from "./choose.ts";

const whole = `enr-3MRxAb12Cd${"0".repeat(17)}`;

test.each([
  ["enr-3MRx", true],
  ["enr-3MR", false],
  [whole.slice(0, -1), true],
  [whole, false],
  [`${whole}0`, false],
  ["job-3MRx", false],
  ["enr-3MR*", false],
  ["web-1", false],
  ["", false],
])("%j is the beginning of the id of an enrollment: %p", (text, short) => {
  expect(isShortId("enr", text)).toBe(short);
});

test("one is chosen only where there is one; of several, the first ten are named", () => {
  const many = Array.from({ length: 12 }, (_, at) => ({ id: `enr-${at}`, text: `web-${at}, pending` }));
  expect(chooseOne("enrollment", "enr-3MRx", many.slice(0, 1))).toEqual(many[0] as (typeof many)[number]);
  expect(() => chooseOne("enrollment", "enr-3MRx", [])).toThrow("no enrollment begins with enr-3MRx");
  expect(() => chooseOne("enrollment", "enr-3MRx", many)).toThrow(
    /^several enrollments begin with enr-3MRx: .* enr-0 \(web-0, pending\); .*enr-9 \(web-9, pending\), …$/,
  );
});
