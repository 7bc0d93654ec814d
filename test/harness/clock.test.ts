import { expect, test } from "bun:test";
import { sleep } from "../../internal/base/clock.ts";
import { manualClock, settle } from "./clock.ts";

test("timers run in their order, each at its time", () => {
  const clock = manualClock(0);
  const ran: [string, number][] = [];
  clock.after(20, () => ran.push(["once", clock.now()]));
  const every = clock.every(15, () => ran.push(["every", clock.now()]));
  clock.advance(30);
  every.cancel();
  clock.advance(100);
  expect(ran).toEqual([
    ["every", 15],
    ["once", 20],
    ["every", 30],
  ]);
  expect([clock.now(), clock.pending]).toEqual([130, 0]);
});

test("while time passes, code that sleeps again and again does so in time", async () => {
  const clock = manualClock(0);
  const woke: number[] = [];
  const run = async () => {
    for (let turn = 0; turn < 3; turn++) {
      for (let step = 0; step < 1_000; step++) await Promise.resolve();
      await sleep(clock, 10);
      woke.push(clock.now());
    }
  };
  const running = run();
  await clock.pass(25);
  expect(woke).toEqual([10, 20]);
  await clock.until(running, 5);
  expect(woke).toEqual([10, 20, 30]);
});

test("a clock waits for code that comes to its sleep by way of the world", async () => {
  const clock = manualClock(0);
  const running = Bun.file(import.meta.path)
    .text()
    .then(() => sleep(clock, 1_000));
  await clock.asleep();
  clock.advance(1_000);
  await running;
});

test("what is awaited gives its value, and its error", async () => {
  const clock = manualClock(0);
  expect(
    await clock.until(
      sleep(clock, 50).then(() => "done"),
      60,
    ),
  ).toBe("done");
  const failing = sleep(clock, 50).then(() => Promise.reject(new Error("broken")));
  await expect(clock.until(failing, 60)).rejects.toThrow("broken");
});

test("a lost wake-up fails, at once when timers go on without it", async () => {
  const clock = manualClock(0, 200);
  const lost = new Promise<void>(() => {});
  await expect(clock.until(lost, 100)).rejects.toThrow("nothing sleeps on the test clock that could wake it");
  const beat = clock.every(10, () => {});
  await expect(clock.until(lost, 100)).rejects.toThrow("not ended within 100 ms of the test clock");
  expect(clock.now()).toBe(100);
  beat.cancel();
  await expect(clock.asleep()).rejects.toThrow("0 timers wait on the test clock, not 1");
});

test("everything that waits for promises alone is over after one turn", async () => {
  let over = false;
  const run = async () => {
    for (let step = 0; step < 10_000; step++) await Promise.resolve();
    over = true;
  };
  void run();
  await settle();
  expect(over).toBe(true);
});
