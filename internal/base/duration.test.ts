import { expect, test } from "bun:test";
import fc from "fast-check";
import { formatDuration, parseDuration, sayDuration } from "./duration.ts";

const hour = 3_600_000;

test.each([
  ["0", 0],
  ["500ms", 500],
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["12h", 12 * hour],
  ["90d", 90 * 24 * hour],
  ["1d12h", 36 * hour],
  ["0.5d", 12 * hour],
])("%s", (text, ms) => expect(parseDuration(text)).toBe(ms));

test.each(["", "d", "-1d", "90", "5x", "1 d", "1D", "d1"])("%j is refused with every unit", (text) => {
  expect(() => parseDuration(text)).toThrow(
    "write a number and a unit (ms, s, m, h, d), such as 90s or 1h30m",
  );
});

test("a duration that no number holds is refused", () => {
  expect(() => parseDuration("99999999999999d")).toThrow("is too long");
});

test.each([
  [0, "0"],
  [90_000, "1m30s"],
  [24 * hour, "24h"],
  [36 * hour, "36h"],
  [48 * hour, "2d"],
  [60 * hour, "2d12h"],
  [2160 * hour, "90d"],
])("%d ms is said as %s", (ms, text) => expect(sayDuration(ms)).toBe(text));

test("what is written for files and programs has no days, and both are read again", () => {
  fc.assert(
    fc.property(fc.nat(400 * 24 * hour), (ms) => {
      expect(formatDuration(ms)).not.toContain("d");
      expect(parseDuration(formatDuration(ms))).toBe(ms);
      expect(parseDuration(sayDuration(ms))).toBe(ms);
    }),
  );
});
