import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { followTwins } from "./follow-twins.ts";

const instanceOf = (name: string, seq: number) => ({
  ...{ id: new Uint8Array(16).fill(name.charCodeAt(0)), startedAt: "2026-01-01T00:00:00.000Z", seq },
});

/** Masters that share one bucket. */
function fleet() {
  const clock = manualClock();
  const bucket = memoryBucket();
  const members = new Map([["web-1", { id: "enr-1" }]]);
  const master = async () => {
    const suspected: string[] = [];
    const log = recordingLog();
    const twins = followTwins({
      bucket,
      directory: { memberOf: (peel) => members.get(peel) as never },
      suspect: (id) => void suspected.push(id),
      ...{ clock, jitter: () => 0.5, log },
    });
    await twins.ready;
    const received = (name: string, seq: number) =>
      twins.received("web-1", instanceOf(name, seq), clock.now());
    return { twins, suspected, received, log };
  };
  return { clock, bucket, members, master };
}

test("each of two masters finds twins, and one that starts later knows what was seen", async () => {
  const { clock, master } = fleet();
  const [one, other] = [await master(), await master()];
  for (const { received } of [one, other]) received("A", 1);
  await clock.pass(20_000);
  for (const { received } of [one, other]) received("B", 1);
  await clock.pass(20_000);
  const since = clock.now() - 20_000;
  await one.twins.stop();
  await other.twins.stop();

  const later = await master();
  expect(later.twins.of("web-1")).toEqual({ onlySince: since, isNamed: true, restoredAt: undefined });
  await clock.pass(20_000);
  later.twins.connected("web-1", clock.now());
  later.received("A", 2);
  expect(later.suspected).toEqual(["enr-1"]);
  await later.twins.stop();
  expect([one.suspected, other.suspected]).toEqual([[], []]);
});

test("another enrollment of a peel is another identity, and strangers are not remembered", async () => {
  const { clock, members, bucket, master } = fleet();
  const { twins, received, suspected } = await master();
  received("A", 1);
  members.set("web-1", { id: "enr-2" });
  expect(twins.of("web-1")).toBeUndefined();
  clock.advance(60_000);
  received("B", 1);
  clock.advance(60_000);
  twins.connected("web-1", clock.now());
  received("A", 2);
  expect(suspected).toEqual([]);
  twins.received("stranger-1", instanceOf("A", 1), clock.now());
  expect(twins.of("stranger-1")).toBeUndefined();
  members.clear();
  await clock.pass(5 * 60_000);
  expect((await bucket.entries()).map(({ key }) => key)).toEqual([]);
  await twins.stop();
});

test("one entry is written for a process, whatever number of messages it sends", async () => {
  const { clock, bucket, master } = fleet();
  const { twins, received } = await master();
  for (let seq = 1; seq <= 50; seq++) {
    received("A", seq);
    await clock.pass(10_000);
  }
  expect((await bucket.get("web-1"))?.revision).toBe(1);
  expect(twins.of("web-1")?.onlySince).toBe(clock.now() - 500_000);
  await twins.stop();
});
