import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { decode } from "../../base/msgpack.ts";
import type { Connection } from "./connection.ts";
import { createOutbox } from "./outbox.ts";
import type { Message } from "./outbox-entries.ts";

const files = temporaryDirectory("outbox");
afterAll(() => files[Symbol.dispose]());
let count = 0;

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const stored = json({ stream: "job-events", seq: 7 });
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

/** A connection on which the test answers each request. */
function fakeConnection() {
  const requests: {
    subject: string;
    payload: string;
    answer: (bytes: Uint8Array) => void;
    fail: () => void;
  }[] = [];
  const listeners = new Set<() => void>();
  const state = { connected: true };
  return {
    requests,
    state,
    connect() {
      state.connected = true;
      for (const run of listeners) run();
    },
    connection: {
      get connected() {
        return state.connected;
      },
      request(subject: string, data: Uint8Array) {
        return new Promise<Uint8Array>((resolve, reject) => {
          requests.push({
            subject,
            payload: text(data),
            answer: resolve,
            fail: () => reject(Object.assign(new Error("timeout"), { code: "TIMEOUT" })),
          });
        });
      },
      onConnect(run: () => void) {
        listeners.add(run);
        if (state.connected) run();
        return () => listeners.delete(run);
      },
    } as unknown as Connection,
  };
}

function outbox(dir = join(files.path, `${++count}`)) {
  const clock = manualClock();
  const log = recordingLog();
  const counts = { outboxDropped: 0, outboxRefused: 0 };
  const wire = fakeConnection();
  const open = () =>
    createOutbox({
      dir,
      shorten: ({ subject }, reason) => (subject.includes("return") ? Buffer.from(reason) : undefined),
      counts,
      clock,
      jitter: () => 0,
      log,
    });
  const under = open();
  const put = (subject: string, payload = "x", more: Partial<Message> = {}) =>
    under.put({ subject, payload: Buffer.from(payload), durable: false, ...more });
  const onDisk = () => readdirSync(dir).sort();
  return { clock, log, counts, wire, under, put, open, dir, onDisk };
}

test("a message is on disk, for the owner alone, until the stream has it", async () => {
  const { wire, under, put, dir, onDisk } = outbox();
  under.attach(wire.connection);
  const { onDisk: kept, stored: done } = put("return.a", "hello", { durable: true });
  expect(kept).toBe(true);
  expect(onDisk()).toEqual(["000000000001.msgpack"]);
  const modes = [dir, join(dir, "000000000001.msgpack")].map((path) =>
    (statSync(path).mode & 0o777).toString(8),
  );
  expect(modes).toEqual(["700", "600"]);
  expect(decode(readFileSync(join(dir, "000000000001.msgpack")))).toEqual({
    subject: "return.a",
    payload: Buffer.from("hello"),
  });
  expect([under.has("return.a"), under.messages, under.bytes]).toEqual([true, 1, 5]);
  wire.requests[0]?.answer(stored);
  expect(await done).toBe(true);
  expect([onDisk(), under.has("return.a"), under.messages, under.bytes]).toEqual([[], false, 0, 0]);
});

test("a message that is not durable is not written to disk", () => {
  const { put, dir } = outbox();
  put("return.a");
  expect(() => readdirSync(dir)).toThrow("ENOENT");
});

test("messages on disk are sent in order at the next start", async () => {
  const first = outbox();
  for (const name of ["a", "b", "c"]) first.put(`return.${name}`, name, { durable: true });
  first.under.stop();
  first.put("return.late", "late", { durable: true });
  writeFileSync(join(first.dir, ".000000000004.msgpack.abc"), "half of a write");
  const second = outbox(first.dir);
  expect(second.onDisk()).toHaveLength(3);
  expect(second.under.has("return.b")).toBe(true);
  second.put("return.d", "d", { durable: true });
  second.under.attach(second.wire.connection);
  expect(second.wire.requests.map(({ payload }) => payload)).toEqual(["a", "b", "c", "d"]);
  for (const { answer } of second.wire.requests) answer(stored);
  await settle();
  expect(second.onDisk()).toEqual([]);
});

test("a damaged file is set aside, and stops nothing", () => {
  const { dir } = outbox();
  mkdirSync(dir);
  writeFileSync(join(dir, "000000000007.msgpack"), "junk");
  const { log, under, put, onDisk } = outbox(dir);
  expect([under.messages, onDisk()]).toEqual([0, ["000000000007.msgpack.damaged"]]);
  expect(log.records.map(({ level }) => level)).toEqual(["error"]);
  expect(put("return.a", "a", { durable: true }).onDisk).toBe(true);
});

test.each([
  ["no answer", (request: { fail: () => void }) => request.fail(), 0],
  ["an error", (request: Answerable) => request.answer(json({ error: { code: 503, description: "no" } })), 1],
  ["a malformed acknowledgement", (request: Answerable) => request.answer(Buffer.from("+OK")), 1],
  ["an answer without a sequence", (request: Answerable) => request.answer(json({ stream: "x" })), 1],
] as const)("%s is tried again, ever more slowly, and kept meanwhile", async (_, respond, refusals) => {
  const { wire, under, put, clock, counts, onDisk } = outbox();
  under.attach(wire.connection);
  put("return.a", "a", { durable: true });
  const pauses: number[] = [];
  for (let attempt = 0; attempt < 10; attempt++) {
    const request = wire.requests.at(-1);
    if (request !== undefined) respond(request);
    await settle();
    const from = clock.now();
    while (wire.requests.length === attempt + 1) clock.advance(50);
    pauses.push(clock.now() - from);
  }
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000]);
  expect([counts.outboxRefused, onDisk()]).toEqual([refusals * 10, ["000000000001.msgpack"]]);
  wire.requests.at(-1)?.answer(stored);
  await settle();
  expect([onDisk(), clock.pending]).toEqual([[], 0]);
});
interface Answerable {
  answer: (bytes: Uint8Array) => void;
}

test("at most 32 are in flight, and those of one subject one after another", async () => {
  const { wire, under, put } = outbox();
  under.attach(wire.connection);
  put("same", "1");
  put("same", "2");
  for (let i = 0; i < 40; i++) put(`other.${i}`);
  expect(wire.requests).toHaveLength(32);
  expect(wire.requests.filter(({ subject }) => subject === "same").map(({ payload }) => payload)).toEqual([
    "1",
  ]);
  wire.requests[0]?.fail();
  await settle();
  expect(wire.requests).toHaveLength(33);
  for (const { subject, answer } of wire.requests) if (subject !== "same") answer(stored);
  await settle();
  expect(wire.requests.filter(({ subject }) => subject === "same")).toHaveLength(1);
});

test("nothing is sent while the bus is away, and everything at once when it is back", async () => {
  const { wire, under, put, clock } = outbox();
  under.attach(wire.connection);
  put("a");
  wire.requests[0]?.fail();
  await settle();
  wire.state.connected = false;
  put("b");
  clock.advance(60_000);
  expect(wire.requests).toHaveLength(1);
  wire.connect();
  expect(wire.requests.map(({ subject }) => subject)).toEqual(["a", "a", "b"]);
});

test("a message is dropped after its expiry", async () => {
  const { wire, under, put, clock } = outbox();
  wire.state.connected = false;
  under.attach(wire.connection);
  const { stored: done } = put("a", "a", { until: clock.now() + 1_000 });
  clock.advance(1_000);
  wire.connect();
  expect(await done).toBe(false);
  expect([wire.requests, under.messages]).toEqual([[], 0]);
});

test("a message that is too large is replaced by a shorter one, on disk as well, or dropped", async () => {
  const { wire, under, put, counts, open, log } = outbox();
  under.attach(wire.connection);
  const tooLarge = json({
    error: { code: 400, err_code: 10054, description: "message size exceeds maximum allowed" },
  });
  put("return.a", "x".repeat(5_000), { durable: true });
  const other = put("schedule.b", "y".repeat(5_000), { durable: true });
  for (const { answer } of [...wire.requests]) answer(tooLarge);
  await settle();
  expect(await other.stored).toBe(false);
  const shorter = "the bus did not store it: message size exceeds maximum allowed";
  expect(wire.requests[2]).toMatchObject({ subject: "return.a", payload: shorter });
  expect([under.messages, under.bytes, counts.outboxDropped]).toEqual([1, shorter.length, 1]);
  expect(log.records.filter(({ level }) => level === "error")).toHaveLength(2);
  expect(open().bytes).toBe(shorter.length);
});

test("results of the schedule give way when it is full, the oldest first; returns of jobs never do", async () => {
  const { under, put, counts, log } = outbox();
  const dropped: string[] = [];
  const watch = (name: string, more: Partial<Message>) =>
    put(name, "x", more).stored.then((isStored) => isStored || dropped.push(name));
  for (let i = 0; i < 10; i++) watch(`schedule.${i}`, { droppable: true });
  for (let i = 0; i < 993; i++) watch(`return.${i}`, {});
  await settle();
  expect(dropped).toEqual(["schedule.0", "schedule.1", "schedule.2"]);
  for (let i = 0; i < 100; i++) watch(`return.more-${i}`, {});
  watch("schedule.new", { droppable: true });
  await settle();
  expect([dropped.length, dropped.at(-1), under.messages]).toEqual([11, "schedule.new", 1093]);
  expect([counts.outboxDropped, log.records.length]).toEqual([11, 11]);
});

test("64 MiB are full as well", async () => {
  const { under, put } = outbox();
  const mebibyte = "x".repeat(1024 * 1024);
  const first = put("schedule.first", mebibyte, { droppable: true });
  for (let i = 0; i < 64; i++) put(`return.${i}`, mebibyte);
  expect(await first.stored).toBe(false);
  expect(under.bytes).toBe(64 * 1024 * 1024);
});

test("without room on the disk a message is kept in memory, and that is said", async () => {
  const { under, put, wire, log, dir } = outbox();
  writeFileSync(dir, "a file where the directory was to be");
  const kept = put("return.a", "a", { durable: true });
  expect(kept.onDisk).toBe(false);
  expect(log.records.map(({ level }) => level)).toEqual(["error"]);
  under.attach(wire.connection);
  wire.requests[0]?.answer(stored);
  expect(await kept.stored).toBe(true);
});
