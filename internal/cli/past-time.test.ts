import { expect, test } from "bun:test";
import { readPastTime } from "./past-time.ts";

const now = Date.parse("2026-01-31T12:00:00Z");

test.each([
  ["2026-01-30", "2026-01-30T00:00:00.000Z"],
  ["2026-01-30T09:00:00+01:00", "2026-01-30T08:00:00.000Z"],
  ["90m", "2026-01-31T10:30:00.000Z"],
  ["7d", "2026-01-24T12:00:00.000Z"],
])("%s is %s", (text, time) => expect(readPastTime("--since", text, now)).toBe(time));

test.each(["", "yesterday", "7", "2026-13-01", "2026-01-30T09:00", "999999999d", "99999999999999h"])(
  "%p is refused with examples",
  (text) => {
    expect(() => readPastTime("--since", text, now)).toThrow(
      /^--since: ".*" is not a time: write 2026-01-31/,
    );
  },
);
