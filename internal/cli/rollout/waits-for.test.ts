import { expect, test } from "bun:test";
import { waitsFor } from "./waits-for.ts";

const ahead = { peels: ["b"] };
const begun = { peels: ["a"], jid: "job-1", begun_at: "2026-01-31T09:00:00Z" };
const ended = { ...begun, ended_at: "2026-01-31T09:01:00Z" };
const view = { id: "rol-1", status: "running", timeout: "1m", wave_wait: "10m", wave: 1 } as const;

test("the job of a wave", () => {
  expect(waitsFor({ ...view, step: "waiting", waves: [begun, ahead] })).toBe(
    "the job of the wave, until about 2026-01-31T09:01:00.000Z: svc job show job-1",
  );
});

test("the wait after a wave", () => {
  expect(waitsFor({ ...view, step: "soaking", waves: [ended, ahead] })).toBe(
    "the wait after the wave, until about 2026-01-31T09:11:00.000Z",
  );
});

test("the check of a wave", () => {
  const waves = [{ ...ended, check_jid: "job-2" }, ahead];
  const check = { function: "test.ping", args: {}, timeout: "30s" };
  expect(waitsFor({ ...view, step: "checking", waves, check })).toBe(
    "the check of the wave, at most 30s: svc job show job-2",
  );
});

test("an operator", () => {
  expect(waitsFor({ ...view, status: "paused", step: "soaking", waves: [ended, ahead] })).toBe(
    "svc rollout resume rol-1",
  );
});

test("nothing, where it continues at once or has ended", () => {
  expect(waitsFor({ ...view, step: "ready", waves: [ended, ahead] })).toBeUndefined();
  expect(waitsFor({ ...view, status: "completed", step: "soaking", waves: [ended] })).toBeUndefined();
});
