import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { mebibyte } from "../../base/byte-size.ts";
import { systemClock } from "../../base/clock.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { eventSubject } from "../../bus/subjects/subjects.ts";
import { makeRoom, makeRoomForEvents } from "./make-room.ts";

// The stream of a bus, of 4 MiB, without a reactor.

let server: TestBus;
let bus: Bus;
beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
});
afterAll(async () => {
  await bus?.nats.close();
  await server?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const { streams } = await bus.nats.jetstreamManager();
  await streams.delete("events").catch(() => {});
  const limits = { max_bytes: 4 * mebibyte, discard: "new", allow_rollup_hdrs: false } as never;
  await streams.add({ name: "events", subjects: [eventSubject("*", ">")], ...(limits as object) });
});

const send = async (subject: string, bytes: number) => {
  const { data } = await bus.nats.request(subject, new Uint8Array(bytes));
  return !Buffer.from(data).toString().includes('"error"');
};
const held = async (filter: string) => {
  const { streams } = await bus.nats.jetstreamManager();
  const { state } = await streams.info("events", { subjects_filter: filter });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};
const run = async () => {
  const discarded = new Map<string, number>();
  const said: unknown[] = [];
  const log = recordingLog();
  await makeRoom({
    bus,
    metrics: { messagesDiscarded: (name, count) => discarded.set(name, (discarded.get(name) ?? 0) + count) },
    lines: { say: (_, __, peel) => void said.push(peel) },
    ...{ clock: systemClock, log },
  });
  return { discarded: discarded.get("events") ?? 0, said, logged: log.records.map(({ event }) => event) };
};

test("a hostile peel loses its own oldest events, whatever their tags are, and nobody else loses one", async () => {
  for (let peel = 0; peel < 20; peel++) {
    for (let at = 0; at < 3; at++) await send(eventSubject(`web-${peel}`, "disk.full"), 200);
  }
  await send(eventSubject("_master", "svc.peel.web-1.lost"), 200);
  for (let at = 0; at < 70; at++) await send(eventSubject("evil-1", `tag-${at}.x`), 60 * 1024);
  // It is full: nobody else is heard.
  expect(await send(eventSubject("web-0", "disk.full"), 60 * 1024)).toBe(false);

  const { discarded, said, logged } = await run();
  expect([said, logged]).toEqual([["evil-1"], []]);
  // 4 MiB / 16 are four such events.
  expect(await held(eventSubject("evil-1", ">"))).toBe(4);
  expect(await held("svc.event.>")).toBe(4 + 61);
  expect(discarded).toBeGreaterThan(60);
  expect(await held(eventSubject("evil-1", "tag-0.x"))).toBe(0);
  expect(await send(eventSubject("web-0", "disk.full"), 60 * 1024)).toBe(true);
  expect((await run()).discarded).toBe(0);
});

test("many that send much together are cut to equal parts", async () => {
  for (let at = 0; at < 7; at++) {
    for (let peel = 0; peel < 10; peel++) await send(eventSubject(`evil-${peel}`, "x"), 56 * 1024);
  }
  expect(await held("svc.event.>")).toBe(70);
  const { said, logged } = await run();
  expect([said.length, logged]).toEqual([10, []]);
  for (let peel = 0; peel < 10; peel++) expect(await held(eventSubject(`evil-${peel}`, ">"))).toBe(2);
});

test("where nobody sends more than others, the oldest events go", async () => {
  const one = async (at: number) => send(eventSubject(`web-${at}`, "x"), 15 * 1024);
  const peels = Array.from({ length: 220 }, (_, at) => at);
  for (const at of peels) await one(at);
  const { said, logged, discarded } = await run();
  expect([said, logged]).toEqual([[], ["old events are discarded to make room"]]);
  expect(discarded).toBeGreaterThan(60);
  expect(await held(eventSubject("web-0", ">"))).toBe(0);
  expect(await held(eventSubject("web-219", ">"))).toBe(1);
});

test("one master makes room, and one that fails tries again", async () => {
  const clock = manualClock();
  const log = recordingLog();
  let [isTurn, requested] = [false, 0];
  const failing = {
    nats: {
      request: async () => {
        requested++;
        throw new Error("away");
      },
    },
    ...{ clock, log },
  } as unknown as Bus;
  const metrics = { messagesDiscarded: () => {} };
  const lines = { say: () => {} };
  const room = makeRoomForEvents({ bus: failing, isTurn: () => isTurn, metrics, lines, clock, log });
  clock.advance(10_000);
  await settle();
  expect(requested).toBe(0);
  isTurn = true;
  clock.advance(10_000);
  await settle();
  const first = requested;
  expect(first).toBeGreaterThan(0);
  clock.advance(10_000);
  await settle();
  expect(requested).toBeGreaterThan(first);
  room.stop();
  expect(clock.pending).toBe(0);
});
