import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import type { Bus } from "../connection/connect.ts";
import { createRecentStreams } from "./recent-streams.ts";

const config = { name: "KV_jobs", storage: "file", max_bytes: 9, discard: "new", num_replicas: 3 };

function setup() {
  const clock = manualClock();
  let requested = 0;
  let isAway = false;
  const nats = {
    async request() {
      requested++;
      if (isAway) throw new Error("no answer");
      const reply = { total: 1, streams: [{ config, state: { bytes: requested } }] };
      return { data: new TextEncoder().encode(JSON.stringify(reply)) };
    },
  };
  const streams = createRecentStreams({ nats, clock } as unknown as Bus);
  return {
    clock,
    requested: () => requested,
    away(is: boolean) {
      isAway = is;
    },
    bytes: async (withinMs: number) => (await streams.list(withinMs))[0]?.bytes,
  };
}

test("readers share a list that is recent enough for them", async () => {
  const { clock, requested, bytes } = setup();
  expect(await Promise.all([bytes(5_000), bytes(5_000)])).toEqual([1, 1]);
  clock.advance(4_999);
  expect(await bytes(5_000)).toBe(1);
  expect(await bytes(1_000)).toBe(2);
  clock.advance(5_000);
  expect(await bytes(5_000)).toBe(3);
  expect(requested()).toBe(3);
});

test("a failure is not served to later callers", async () => {
  const { away, bytes } = setup();
  away(true);
  await expect(bytes(5_000)).rejects.toThrow("no answer");
  away(false);
  expect(await bytes(5_000)).toBe(2);
});
