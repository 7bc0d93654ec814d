import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { eventSubject, scheduleSubject } from "../../bus/subjects/subjects.ts";
import { createEventFeed } from "./feed.ts";
import { createFilter } from "./filter.ts";
import { feedStreams, formatPosition, type Position, parsePosition } from "./position.ts";

let bus: TestBus;
let owner: Bus;

beforeAll(async () => {
  bus = await startBus();
  owner = await connectTo(bus, "master");
  const manager = await owner.nats.jetstreamManager();
  await manager.streams.add({ name: "events", subjects: ["svc.event.>"] });
  await manager.streams.add({ name: "job-events", subjects: ["svc.job.*.schedule.*", "svc.job.*.ack.*"] });
  await manager.streams.add({ name: "KV_enrollments", subjects: ["$KV.enrollments.>"] });
});
afterAll(async () => {
  await owner?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

const feedOf = () =>
  createEventFeed({
    ...{ bus: owner, jobOf: async () => undefined, enrollments: {} },
    ...{ clock: manualClock(), log: recordingLog() },
  });
const start: Position = { events: 0, "job-events": 0, enrollments: 0 };
const jid = (at: number) => `job-${String(at).padStart(27, "0")}`;
const store = (subject: string, value: unknown) => owner.nats.request(subject, encode(value as never));
const result = { success: true, retcode: 0, started_at: "", duration_ms: 1 };
const everything = createFilter({}).wanted;

/** All events up to now, as their tags, read part after part. */
async function readAll(feed: ReturnType<typeof feedOf>, wanted = everything, from = start) {
  const until = await feed.end();
  const tags: string[] = [];
  const positions: Position[] = [];
  let parts = 0;
  for (let at = from; formatPosition(at) !== formatPosition(until); parts++) {
    const { items, position } = await feed.read({ from: at, until, wanted });
    tags.push(...items.map(({ event }) => event.tag));
    positions.push(...items.map((item) => item.position));
    at = position;
  }
  return { tags, positions, parts };
}

test("more than fits into one part comes complete and in order, also from any place in it", async () => {
  const wanted: string[] = [];
  const stored: Promise<unknown>[] = [];
  for (let round = 0; round < 12; round++) {
    for (let at = 0; at < 100; at++) {
      stored.push(store("svc.job.x.ack.web-1", {}));
      stored.push(
        store(scheduleSubject(jid(round), "web-1"), {
          schedule: `s${round}-${at}`,
          function: "f",
          args: {},
          ...result,
        }),
      );
      wanted.push(`svc/schedule/s${round}-${at}/web-1`);
    }
    await store(eventSubject("web-1", `round.${round}`), { data: { round } });
    wanted.push(`round/${round}`);
  }
  await Promise.all(stored);
  const feed = feedOf();
  const { tags, positions, parts } = await readAll(feed);
  expect(tags.toSorted()).toEqual(wanted.toSorted());
  const rounds = tags.filter((tag) => tag.startsWith("round/"));
  expect(rounds).toEqual(Array.from({ length: 12 }, (_, round) => `round/${round}`));
  expect(parts).toBeGreaterThan(4);
  for (const at of [0, 500, 511, 700, tags.length - 1]) {
    const rest = await readAll(feed, everything, positions[at]);
    expect(rest.tags).toEqual(tags.slice(at + 1));
  }
  // Streams that cannot hold such events are not read.
  const { wanted: few } = createFilter({ tag: "round/*" });
  expect([...few]).toEqual(["events"]);
  expect((await readAll(feed, few)).tags).toEqual(rounds);
  expect((await readAll(feed, few)).parts).toBe(1);
});

test("what is malformed, forged or of nobody is left out", async () => {
  const feed = feedOf();
  const from = await feed.end();
  await store(eventSubject("web-1", "svc.peel.db-1.lost"), { data: {} });
  await owner.nats.request(eventSubject("web-1", "junk"), "\xff\xff");
  await store(scheduleSubject("nothing", "web-1"), result);
  await store("$KV.enrollments.peel.web-1", "enr-x");
  await owner.nats.request(`$KV.enrollments.enr-${"0".repeat(27)}`, "junk");
  await store(eventSubject("web-1", "good"), { data: {} });
  expect((await readAll(feed, everything, from)).tags).toEqual(["good"]);
});

test("a position behind the end is one of an earlier stream: this one is read from its beginning", async () => {
  const feed = feedOf();
  const until = await feed.end();
  const { items } = await feed.read({ from: { ...until, events: 1e9 }, until, wanted: new Set(["events"]) });
  expect(items[0]?.event.tag).toBe("round/0");
});

test("readers are bounded, of one operator and of all, and none enters a master that stops", () => {
  const feed = feedOf();
  const ways = Array.from({ length: 64 }, () => feed.enter("ann"));
  expect(() => feed.enter("ann")).toThrow("too many readers");
  ways.pop()?.();
  feed.enter("ann");
  for (let at = 0; at < 192; at++) feed.enter(`one-${at}`);
  expect(() => feed.enter("bob")).toThrow("too many readers");
  expect(feed.readers).toBe(256);
  feed.stop();
  expect(() => feed.enter("ann")).toThrow("this master stops");
});

test("a position is written and read", () => {
  const position = { events: 12, "job-events": 0, enrollments: 345 };
  expect(parsePosition(formatPosition(position))).toEqual(position);
  expect(feedStreams.map((name) => position[name])).toEqual([12, 0, 345]);
  for (const text of ["", "1-2", "1-2-3-4", "-1-2-3", "1e3-2-3", `1-2-${"9".repeat(16)}`]) {
    expect(() => parsePosition(text)).toThrow();
  }
});
