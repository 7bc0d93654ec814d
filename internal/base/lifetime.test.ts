import { expect, test } from "bun:test";
import { parseLifetime } from "./lifetime.ts";

test.each([
  ["90d", 90 * 24 * 3_600_000],
  ["12h", 12 * 3_600_000],
  ["1h30m", 5_400_000],
  ["0d", 0],
])("%s", (text, ms) => {
  expect(parseLifetime(text)).toBe(ms);
});

test.each(["", "d", "1.5d", "1d12h", "-1d", "90", "9999999d"])("%p is refused", (text) => {
  expect(() => parseLifetime(text)).toThrow("is not a duration");
});
