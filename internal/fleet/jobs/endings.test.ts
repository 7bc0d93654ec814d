import { expect, test } from "bun:test";
import { createEndings } from "./endings.ts";
import type { Settled } from "./records/mod.ts";

const settled = (status: Settled["status"]) => ({ settled: { status } as Settled });

test("endings count from a revision on, each once, by status", () => {
  const endings = createEndings();
  endings.note({}, 1, true);
  endings.note(settled("completed"), 2, true);
  endings.note(settled("failed"), 3, true);
  // A late return has changed how it ended.
  endings.note(settled("completed"), 4, false);
  endings.note({ ...settled("cancelled"), forbidden: true }, 5, true);
  expect(endings.since(1)).toEqual({ ended: { completed: 1, failed: 1, cancelled: 0 }, seen: 5 });
  expect(endings.since(2).ended).toEqual({ completed: 0, failed: 1, cancelled: 0 });
  expect(endings.since(5).ended).toEqual({ completed: 0, failed: 0, cancelled: 0 });
});

test("without a revision, and with one of another bucket, none are counted", () => {
  const endings = createEndings();
  endings.note(settled("failed"), 7, true);
  for (const revision of [undefined, 10_000]) {
    expect(endings.since(revision)).toEqual({ ended: { completed: 0, failed: 0, cancelled: 0 }, seen: 7 });
  }
});

test("what is kept is bounded, and the newest stay", () => {
  const endings = createEndings();
  for (let revision = 1; revision <= 200_000; revision++) endings.note(settled("completed"), revision, true);
  expect(endings.since(190_000).ended.completed).toBe(10_000);
  expect(endings.since(0).ended.completed).toBeLessThan(70_000);
});
