import { expect, test } from "bun:test";
import { onlyKnown } from "./body.ts";

test("a body with known keys alone is handed on, and so is what is no object", () => {
  for (const body of [{ a: 1 }, {}, null, "a", 7]) expect(onlyKnown(body, ["a", "b"])).toBe(body);
});

test("a misspelt key is refused with its place and the key that was meant", () => {
  expect(() => onlyKnown({ target: "*", dry_rum: true }, ["target", "dry_run"])).toThrow(
    'unknown key "dry_rum" (did you mean dry_run?); known are target, dry_run',
  );
  expect(() => onlyKnown({ functon: "x" }, ["function"], "check.")).toThrow('unknown key "check.functon"');
});
