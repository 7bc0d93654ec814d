import { expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { type WatchOptions, watchDirectory } from "./watch-directory.ts";

/** A watch on the directory `root`, which need not be there. */
function start(options: Partial<WatchOptions> = {}) {
  const temporary = temporaryDirectory("watch");
  const at = (name: string) => join(temporary.path, name);
  const manual = manualClock();
  let noticed = Promise.withResolvers<void>();
  let changes = 0;
  const clock = {
    ...manual,
    after(ms: number, run: () => void) {
      noticed.resolve();
      return manual.after(ms, run);
    },
  };
  mkdirSync(at("root/below"), { recursive: true });
  const watching = watchDirectory(at("root"), {
    onChange: () => changes++,
    ...{ clock, log: recordingLog() },
    ...options,
  });
  return {
    at,
    advance: manual.advance,
    changes: () => changes,
    stop: watching.stop,
    /** Puts a file there in one step, and waits until the system has reported it. */
    async put(name: string) {
      noticed = Promise.withResolvers();
      writeFileSync(at("new"), "text");
      renameSync(at("new"), at(name));
      await noticed.promise;
    },
    [Symbol.dispose]() {
      watching.stop();
      temporary[Symbol.dispose]();
    },
  };
}

test("changes in a directory and below it are reported once they had time to settle", async () => {
  using watching = start({ settleMs: 200 });
  await watching.put("root/a");
  watching.advance(199);
  expect(watching.changes()).toBe(0);
  watching.advance(1);
  expect(watching.changes()).toBe(1);
  await watching.put("root/below/b");
  watching.advance(200);
  expect(watching.changes()).toBe(2);
});

test("with `quiet` every change restarts the time", async () => {
  using watching = start({ settleMs: 200, untilQuiet: true });
  await watching.put("root/a");
  watching.advance(150);
  await watching.put("root/b");
  watching.advance(150);
  expect(watching.changes()).toBe(0);
  watching.advance(50);
  expect(watching.changes()).toBe(1);
});

test("a directory may go, come and be replaced", async () => {
  using watching = start({ rescanMs: 10_000 });
  rmSync(watching.at("root"), { recursive: true });
  watching.advance(10_000);
  mkdirSync(watching.at("root"));
  watching.advance(10_000);
  await watching.put("root/a");
  renameSync(watching.at("root"), watching.at("other"));
  mkdirSync(watching.at("root"));
  watching.advance(10_000);
  // The first may be a late word of the directory that went.
  for (let i = 0; i < 3; i++) {
    await watching.put(`root/${i}`);
    watching.advance(300);
  }
});

test("after the stop nothing is reported any more", async () => {
  using watching = start({ rescanMs: 10_000 });
  await watching.put("root/a");
  watching.stop();
  watching.advance(20_000);
  expect(watching.changes()).toBe(0);
});

test("a directory that is made later is noticed without the regular check, also far below what exists", async () => {
  using watching = start({ settleMs: 200 });
  const far = watching.at("far/below/here");
  const seen: string[] = [];
  const manual = manualClock();
  let noticed = Promise.withResolvers<void>();
  const late = watchDirectory(far, {
    onChange: () => seen.push("changed"),
    settleMs: 200,
    clock: {
      ...manual,
      after(ms: number, run: () => void) {
        noticed.resolve();
        return manual.after(ms, run);
      },
    },
    log: recordingLog(),
  });
  const happens = async (act: () => void) => {
    noticed = Promise.withResolvers();
    act();
    await noticed.promise;
    manual.advance(200);
  };
  await happens(() => mkdirSync(far, { recursive: true }));
  expect(seen.length).toBeGreaterThan(0);
  // The new directory itself is watched now.
  await happens(() => writeFileSync(join(far, "a"), "text"));
  await happens(() => {
    renameSync(far, watching.at("far/below/other"));
    mkdirSync(far);
  });
  await happens(() => writeFileSync(join(far, "b"), "text"));
  late.stop();
  expect(manual.pending).toBe(0);
});
