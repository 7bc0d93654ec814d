import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { createPace } from "./pace.ts";

const files = temporaryDirectory("pace");
afterAll(() => files[Symbol.dispose]());
const minutes = 60_000;

test("at most every five minutes, jittered, also over restarts", () => {
  const clock = manualClock();
  const file = join(files.path, "asked");
  const open = (jitter: number) => createPace(file, { clock, jitter: () => jitter });
  const first = open(0.5);
  expect(first.waitMs()).toBe(0);
  first.requested();
  expect(first.waitMs()).toBe(5.5 * minutes);
  clock.advance(minutes);
  expect([first.waitMs(), open(0).waitMs(), open(0.5).waitMs()]).toEqual([
    4.5 * minutes,
    4 * minutes,
    4.5 * minutes,
  ]);
  clock.advance(5 * minutes);
  expect([first.waitMs(), open(0.5).waitMs()]).toEqual([0, 0]);
});

test("a damaged file, and a time in the future, do not keep the peel from asking for long", () => {
  const clock = manualClock();
  const file = join(files.path, "odd");
  for (const [text, wait] of [
    ["", 0],
    ["yesterday", 0],
    ["2999-01-01T00:00:00Z", 5 * minutes],
  ] as const) {
    writeFileSync(file, text);
    expect(createPace(file, { clock, jitter: () => 0 }).waitMs()).toBe(wait);
  }
});

test("a disk that is full does not keep it from asking", () => {
  const clock = manualClock();
  const pace = createPace(join(files.path, "missing", "asked"), { clock, jitter: () => 0 });
  pace.requested();
  expect(pace.waitMs()).toBe(5 * minutes);
});
