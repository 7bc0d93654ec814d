import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { notifyPeels } from "./notify-peels.ts";

function setUp(count: number) {
  const clock = manualClock();
  const hinted: string[] = [];
  const connected = Array.from({ length: count }, (_, index) => `p${index}`);
  const reporting = notifyPeels({
    bus: { publish: (subject) => void hinted.push(subject) },
    connected: () => connected,
    clock,
  });
  return { clock, hinted, reporting };
}

test("a small fleet is notified at once, and nothing waits", () => {
  const { clock, hinted, reporting } = setUp(3);
  reporting.report();
  expect(hinted).toEqual(["svc.peel.p0.hint", "svc.peel.p1.hint", "svc.peel.p2.hint"]);
  expect(clock.pending).toBe(0);
});

test("a large fleet is notified part by part, each peel once", async () => {
  const { clock, hinted, reporting } = setUp(1_200);
  reporting.report();
  expect(hinted).toHaveLength(500);
  await clock.pass(1_000);
  expect(hinted).toHaveLength(1_000);
  await clock.pass(5_000);
  expect(hinted).toHaveLength(1_200);
  expect(new Set(hinted).size).toBe(1_200);
  expect(clock.pending).toBe(0);
});

test("a second change starts again from the first peel, and a stop ends it", async () => {
  const { clock, hinted, reporting } = setUp(1_200);
  reporting.report();
  reporting.report();
  expect(hinted).toHaveLength(1_000);
  reporting.stop();
  await clock.pass(5_000);
  expect(hinted).toHaveLength(1_000);
  expect(clock.pending).toBe(0);
});
