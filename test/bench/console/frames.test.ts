import { expect, test } from "bun:test";
import { framesOf, type TraceEvent } from "./frames.ts";

const event = (name: string, ts: number, dur: number, tdur = dur, tid = 1): TraceEvent => ({
  ...{ name, ph: "X", pid: 7, tid, ts, dur, tdur },
});

test("the work between two frames counts for the later one, on the thread that draws", () => {
  const frames = framesOf([
    event("RunTask", 1_000, 4_000, 2_000),
    event("RunTask", 6_000, 10_000, 5_000),
    event("PrePaint", 8_000, 1_000),
    event("RunTask", 20_000, 3_000),
    event("PrePaint", 21_000, 500),
    // Not drawn yet.
    event("RunTask", 30_000, 90_000),
    event("RunTask", 0, 500_000, 500_000, 2),
  ]);
  expect(frames).toEqual([
    { workMs: 7, wallMs: 14 },
    { workMs: 3, wallMs: 3 },
  ]);
});
