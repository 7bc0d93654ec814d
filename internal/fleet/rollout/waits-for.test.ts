import { expect, test } from "bun:test";
import { waitsFor } from "./waits-for.ts";

const second = 1_000;
const begunAt = Date.UTC(2026, 0, 31, 9);
const begun = { job: { jid: "job-1", createdAt: begunAt }, begunAt, gone: 0 };
const ended = { ...begun, endedAt: begunAt + 60 * second };
const plan = { timeoutMs: 60 * second, waveWaitMs: 600 * second };
const running = { id: "rol-1", status: "running", plan } as const;

test("the job of a wave", () => {
  expect(waitsFor({ ...running, step: "waiting", waves: [begun] })).toBe(
    "the job of the wave, until about 2026-01-31T09:01:00.000Z: svc job show job-1",
  );
});

test("the wait after a wave", () => {
  expect(waitsFor({ ...running, step: "soaking", waves: [ended] })).toBe(
    "the wait after the wave, until about 2026-01-31T09:11:00.000Z",
  );
});

test("the check of a wave", () => {
  const waves = [{ ...ended, check: { jid: "job-2", createdAt: begunAt } }];
  const check = { function: "test.ping", args: {}, timeoutMs: 30 * second };
  expect(waitsFor({ ...running, step: "checking", waves, plan: { ...plan, check } })).toBe(
    "the check of the wave, at most 30s: svc job show job-2",
  );
});

test("an operator", () => {
  expect(waitsFor({ ...running, status: "paused", step: "soaking", waves: [ended] })).toBe(
    "svc rollout resume rol-1",
  );
});

test("nothing, where it continues at once, has not begun or has ended", () => {
  expect(waitsFor({ ...running, step: "ready", waves: [ended] })).toBeUndefined();
  expect(waitsFor({ ...running, step: "waiting", waves: [] })).toBeUndefined();
  expect(waitsFor({ ...running, status: "completed", step: "soaking", waves: [ended] })).toBeUndefined();
});
