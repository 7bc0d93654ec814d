import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { refreshPeriodically } from "./refresh-periodically.ts";

const minute = 60_000;

function refreshing(jitter: number) {
  const clock = manualClock();
  const log = recordingLog();
  const facts = {
    count: 0,
    answer: () => Promise.resolve(true),
    refresh() {
      facts.count++;
      return facts.answer();
    },
  };
  return { clock, log, facts, running: refreshPeriodically({ facts, clock, jitter: () => jitter, log }) };
}

test.each([
  [0, 9],
  [0.5, 10],
  [0.999_999, 11],
])("with the jitter %p every %i minutes", async (jitter, minutes) => {
  const { clock, facts } = refreshing(jitter);
  for (let count = 0; count < 3; count++) {
    clock.advance(minutes * minute - 1_000);
    expect(facts.count).toBe(count);
    clock.advance(1_000);
    expect(facts.count).toBe(count + 1);
    await settle();
  }
});

test("continues after a logged failure, until it is stopped", async () => {
  const { clock, log, facts, running } = refreshing(0.5);
  facts.answer = () => Promise.reject(new Error("broken"));
  clock.advance(10 * minute);
  await settle();
  expect(log.records).toEqual([
    { level: "error", event: "facts not collected", fields: { error: "broken" } },
  ]);
  clock.advance(10 * minute);
  expect(facts.count).toBe(2);
  running.stop();
  await settle();
  expect(clock.pending).toBe(0);
});

test("a long collection does not overlap with another one", async () => {
  const { clock, facts } = refreshing(0.5);
  facts.answer = () => new Promise(() => {});
  clock.advance(60 * minute);
  await settle();
  expect(facts.count).toBe(1);
});
