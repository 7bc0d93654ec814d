import { expect, test } from "bun:test";
import { formatAge, formatAgo, formatUntil } from "./age.ts";

const day = 24 * 3_600_000;
const now = Date.parse("2026-01-10T00:00:00.000Z");

test.each([
  [-5, "0s"],
  [999, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_600_000, "1h"],
  [day - 1, "23h"],
  [400 * day, "400d"],
])("an age of %d ms is %s", (ms, text) => expect(formatAge(ms)).toBe(text));

test.each([
  ["2026-01-08T00:00:00.000Z", "2d", "2d ago"],
  ["2026-01-09T23:59:59+00:00", "1s", "1s ago"],
  ["2026-01-10T00:00:00.000Z", "0s", "0s ago"],
  ["2026-02-08T00:00:00.000Z", "0s", "in 29d"],
  ["2026-04-09T23:59:58.000Z", "0s", "in 90d"],
  ["2026-01-16T23:59:58.000Z", "0s", "in 7d"],
  ["2026-01-11T11:59:00.000Z", "0s", "in 1d"],
  ["2026-01-11T12:01:00.000Z", "0s", "in 2d"],
  ["2026-01-10T23:50:00.000Z", "0s", "in 1d"],
  ["2026-01-10T00:59:59.000Z", "0s", "in 1h"],
  ["2026-01-10T00:00:59.900Z", "0s", "in 1m"],
  ["2026-01-10T00:00:00.100Z", "0s", "in 0s"],
  ["never", "never", "never"],
  ["12", "12", "12"],
  ["2026-13-99T99:00:00Z", "2026-13-99T99:00:00Z", "2026-13-99T99:00:00Z"],
])("%s is %s, or %s", (time, ago, until) => {
  expect(formatAgo(time, now)).toBe(ago);
  expect(formatUntil(time, now)).toBe(until);
});
