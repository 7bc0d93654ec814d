import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { createTrial } from "./trial.ts";

const staged = {
  jid: "job-1",
  sha256: "a".repeat(64),
  version: "2",
  from: "1",
  readyWithinMs: 60_000,
  deadline: 0,
};
const { signal } = new AbortController();

/** A trial of a peel whose readiness the test sets. */
function scene(isOwnPort?: () => boolean) {
  const clock = manualClock();
  const peel = { ready: false };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      Response.json(
        { checks: { bus: { status: peel.ready ? "up" : "down", message: "away" } } },
        { status: peel.ready ? 200 : 503 },
      ),
  });
  const limits = { answerMs: 5_000, settleMs: 15_000, trialStarts: 3 };
  const health = { host: "127.0.0.1", port: server.port ?? 0 };
  const trial = createTrial(staged, {
    health,
    limits,
    clock,
    ...(isOwnPort === undefined ? {} : { isOwnPort }),
  });
  return { clock, peel, trial, [Symbol.asyncDispose]: () => server.stop(true) };
}

test("a binary that stays ready for long enough is settled, and not a moment before", async () => {
  await using at = scene();
  at.peel.ready = true;
  await at.trial.check(signal);
  at.clock.advance(14_999);
  await at.trial.check(signal);
  expect(at.trial.isOver).toBe(false);
  at.clock.advance(1);
  await at.trial.check(signal);
  expect([at.trial.isOver, at.trial.failure]).toEqual([true, undefined]);
});

test("a binary that loses readiness must stay ready from the start again", async () => {
  await using at = scene();
  at.peel.ready = true;
  await at.trial.check(signal);
  at.clock.advance(10_000);
  at.peel.ready = false;
  await at.trial.check(signal);
  at.peel.ready = true;
  await at.trial.check(signal);
  at.clock.advance(14_999);
  await at.trial.check(signal);
  expect(at.trial.isOver).toBe(false);
});

test("a binary that is ready when the time is over may settle; one that is not has failed, with the reason", async () => {
  await using at = scene();
  at.clock.advance(59_000);
  at.peel.ready = true;
  await at.trial.check(signal);
  at.clock.advance(10_000);
  await at.trial.check(signal);
  expect(at.trial.isOver).toBe(false);
  at.peel.ready = false;
  await at.trial.check(signal);
  expect(at.trial.failure).toBe("it did not become ready in 1m: bus: away");
});

test("a binary may end twice and no third time", async () => {
  await using at = scene();
  at.trial.ended("code 1");
  at.trial.ended("SIGSEGV");
  expect(at.trial.isOver).toBe(false);
  at.trial.ended("code 2");
  expect(at.trial.failure).toBe("it exited 3 times, the last time with code 2");
});

test("another program on the port of a peel cannot decide its trial", async () => {
  await using at = scene(() => false);
  at.peel.ready = true;
  for (const ms of [0, 15_000, 45_000]) {
    at.clock.advance(ms);
    await at.trial.check(signal);
  }
  expect(at.trial.failure).toMatch(/a program of another user listens on port \d+$/);
});
