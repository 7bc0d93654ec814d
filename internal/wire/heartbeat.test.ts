import { expect, test } from "bun:test";
import { manualClock } from "../../test/harness/clock.ts";
import { recordingLog } from "../../test/harness/log.ts";
import { encode } from "../base/msgpack.ts";
import type { Change } from "../bus/storage/mod.ts";
import { createFleetIndex } from "../fleet/targeting/fleet-index.ts";
import { readGoodbye } from "./heartbeat.ts";

const goodbyeFields = (after: number) => ({ leaving_after: after });
const start = Date.parse("2026-01-01T00:00:00Z");

function setup() {
  const clock = manualClock(start);
  const watchers: ((change: Change) => void)[] = [];
  const watched = (run: (change: Change) => void) => {
    watchers.push(run);
    return { ready: Promise.resolve(), caughtUp: async () => {}, stop: () => {} };
  };
  const quiet = { watch: () => ({ ready: Promise.resolve(), caughtUp: async () => {}, stop: () => {} }) };
  const index = createFleetIndex({
    ...{ members: () => ["web-1"], facts: quiet, heartbeats: { watch: watched }, clock, log: recordingLog() },
  });
  const received: number[] = [];
  index.onBeat((_, revision) => received.push(revision));
  const store = (revision: number, fields: Record<string, number | string>, peel = "web-1") => {
    for (const run of watchers) run({ key: peel, value: encode(fields), revision, storedAt: clock.now() });
  };
  return { clock, index, received, store };
}

test("a goodbye makes a peel silent at once, and is not a heartbeat", () => {
  const { clock, index, received, store } = setup();
  store(7, {});
  clock.advance(3_000);
  expect(index.lifeOf("web-1")).toEqual({ alive: true, since: start });
  store(8, goodbyeFields(7));
  expect(index.alive("web-1")).toBe(false);
  expect(index.alive("web-1", clock.now() - 1)).toBe(true);
  expect(index.lifeOf("web-1")).toEqual({ alive: false, since: start + 3_000 });
  expect(received).toEqual([7]);
  store(9, {});
  expect(index.lifeOf("web-1")).toEqual({ alive: true, since: start + 3_000 });
});

test("a goodbye that a newer greeting overtook has no effect", () => {
  const { index, store } = setup();
  store(7, {});
  store(8, {});
  store(9, goodbyeFields(7));
  expect(index.alive("web-1")).toBe(true);
});

test("a peel says goodbye for itself only, whatever it names", () => {
  const { index, store } = setup();
  store(7, {});
  store(8, {}, "web-2");
  store(9, { ...goodbyeFields(Number.MAX_SAFE_INTEGER), peel_id: "web-1" }, "web-2");
  expect([index.alive("web-1"), index.alive("web-2")]).toEqual([true, false]);
});

test.each([
  ["a heartbeat", encode({ peel_id: "web-1" })],
  ["a text", encode({ leaving_after: "7" })],
  ["a fraction", encode({ leaving_after: 7.5 })],
  ["less than nothing", encode({ leaving_after: -1 })],
  ["the word elsewhere", encode({ version: "leaving_after" })],
  ["more than a heartbeat may have", encode({ leaving_after: 7, more: "x".repeat(4096) })],
  ["a message that cannot be read", Buffer.from("\xc1leaving_after", "latin1")],
])("is not a goodbye: %s", (_, value) => {
  expect(readGoodbye(value)).toBeUndefined();
});

test("a peel whose connection ended is silent after 12 s, unless it is heard again", () => {
  const { clock, index, store } = setup();
  store(7, {});
  clock.advance(1_000);
  index.doubt("web-1");
  index.doubt("unknown-1");
  clock.advance(11_999);
  expect(index.alive("web-1")).toBe(true);
  clock.advance(1);
  expect(index.lifeOf("web-1")).toEqual({ alive: false, since: start + 13_000 });

  // It moved to another connection: the old one ends after the first heartbeat on the new one.
  store(8, {});
  index.doubt("web-1");
  clock.advance(10_000);
  store(9, {});
  clock.advance(29_999);
  expect(index.alive("web-1")).toBe(true);
  // What ended long ago does not make it live longer.
  clock.advance(1);
  index.doubt("web-1");
  expect(index.alive("web-1")).toBe(false);
});
