import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { startBus } from "./bus.ts";
import { manualClock } from "./clock.ts";
import { startProgram } from "./process.ts";
import { temporaryDirectory } from "./temporary.ts";

// A harness that cannot fail proves nothing: this tests each way in which it must detect problems.

test("waiting for output fails with the output when the program ends first", async () => {
  await using program = startProgram(["sh", "-c", "echo reason-of-death >&2; exit 3"]);
  await expect(program.waitFor("never printed")).rejects.toThrow("reason-of-death");
  expect(await program.exited).toBe(3);
});

test("a bus that cannot start fails the test with the server's own words", async () => {
  await using bus = await startBus();
  await bus.stop();
  await Bun.write(`${bus.authDir}/nats-server.conf`, "no_such_option: 1");
  await expect(bus.start()).rejects.toThrow("no_such_option");
});

test("a program that was started is gone when the test is over, and so is its directory", async () => {
  let pid = 0;
  let path = "";
  {
    await using program = startProgram(["sleep", "1000"]);
    using directory = temporaryDirectory("self");
    pid = program.pid;
    path = directory.path;
    expect(existsSync(path)).toBe(true);
  }
  expect(existsSync(path)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow();
});

test("a stopped bus leaves nothing behind", async () => {
  let dir = "";
  let pid = 0;
  {
    await using bus = await startBus();
    dir = bus.dir;
    pid = bus.server().pid;
  }
  expect(existsSync(dir)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow();
});

test("the manual clock runs timers in order, repeats, and stops what was cancelled", () => {
  const clock = manualClock(0);
  const ran: string[] = [];
  clock.after(20, () => ran.push(`b${clock.now()}`));
  clock.after(10, () => ran.push(`a${clock.now()}`));
  const every = clock.every(15, () => ran.push(`e${clock.now()}`));
  clock.after(5, () => {}).cancel();
  clock.advance(31);
  every.cancel();
  clock.advance(100);
  expect(ran).toEqual(["a10", "e15", "b20", "e30"]);
  expect(clock.pending).toBe(0);
});
