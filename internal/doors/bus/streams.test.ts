import { afterAll, beforeAll, expect, test } from "bun:test";
import { createInbox } from "nats";
import * as v from "valibot";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { freeBudgets } from "../../../test/harness/operator-budgets.ts";
import { until } from "../../../test/harness/until.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type FeedSink, feed, operation } from "../../fleet/operation/mod.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { type FeedPart, openItems, openPart } from "../../wire/feed-part.ts";
import { serveRoom } from "./bind.ts";
import { followFeed } from "./follow-feed.ts";
import { createStreams } from "./streams.ts";

let bus: TestBus;
let master: Bus;
let operator: Bus;

beforeAll(async () => {
  bus = await startBus();
  master = await connectTo(bus, "master");
  operator = await connectTo(bus, "admin");
});
afterAll(async () => {
  await operator?.nats.close();
  await master?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

const numbers = operation({
  name: "numbers.follow",
  kind: "read",
  summary: "Follow numbers",
  admits: ["operator"],
  scope: "self",
  input: v.strictObject({ after: v.optional(v.string()) }),
  output: feed,
  touches: () => ({ fleet: true }),
  run: async (start: (sink: FeedSink, after: string | undefined) => () => void, { after }) => ({
    start: (sink: FeedSink) => start(sink, after),
  }),
});
const binding = { operation: numbers, bus: { subject: "svc.admin.numbers.follow" } };

/** Serves the feed on a master with a clock of its own. */
async function serve(start: (sink: FeedSink, after: string | undefined) => () => void, on = master) {
  const clock = manualClock();
  const streams = createStreams({ bus: on, clock, random: systemRandom });
  const door = { bus: on, master: "master-1", clock, log: recordingLog(), streams, budgets: freeBudgets };
  const serving = serveRoom(door, { follow: binding }, start);
  await on.nats.flush();
  return {
    clock,
    streams,
    [Symbol.dispose]() {
      serving.stop();
      streams.stop();
    },
  };
}

/** The parts that a request gets; `isAnswered` decides which are acknowledged. */
async function request(isAnswered: (at: number) => boolean = () => true) {
  const parts: FeedPart[] = [];
  const sizes: number[] = [];
  const acknowledged: string[] = [];
  const reply = createInbox();
  const subscription = operator.nats.subscribe(reply, {
    callback(_, message) {
      const part = openPart(message.data);
      if (part === undefined) return;
      parts.push(part);
      sizes.push(message.data.length);
      if (message.reply) acknowledged.push(`${part.seq} ${message.reply}`);
      if (message.reply && isAnswered(part.seq)) message.respond();
    },
  });
  const published = `svc.op.${operator.user}.${binding.bus.subject}`;
  operator.nats.publish(published, encode({ operator: "ann" }), { reply });
  await operator.nats.flush();
  const leave = () => subscription.unsubscribe();
  return { parts, sizes, acknowledged, leave, [Symbol.dispose]: leave };
}

const never = new AbortController().signal;
const follow = (input = {}, signal = never) =>
  followFeed(operator, binding, input, signal, { operator: "ann" });

test("what is ready shares parts of 64 KiB, a larger item is cut, and each 64th part and each alive is acknowledged", async () => {
  const small = "x".repeat(500);
  const large = "y".repeat(200_000);
  using _ = await serve((sink) => {
    for (let at = 0; at < 20_000; at++) sink.send("number", { at, small }, `${at}`);
    sink.send("large", { large });
    sink.send("number", { at: -1 });
    sink.close();
    return () => {};
  });
  const found: string[] = [];
  for await (const { event, data, id } of follow()) {
    const { at, large: text } = data as { at?: number; large?: string };
    found.push(`${event} ${at ?? text?.length} ${id ?? ""}`);
  }
  expect(found.slice(0, 2)).toEqual(["number 0 0", "number 1 1"]);
  expect(found.slice(-3)).toEqual(["number 19999 19999", "large 200000 ", "number -1 "]);
  expect(found).toHaveLength(20_002);

  using requesting = await request();
  const { parts, sizes, acknowledged } = requesting;
  await until(() => parts.at(-1)?.kind === "end");
  expect(parts.map(({ seq }) => seq)).toEqual(parts.map((_, at) => at));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(64 * 1024);
  expect(parts.length).toBeLessThan(200);
  expect(parts.filter((part) => part.kind === "item" && part.more === true)).toHaveLength(3);
  const token = /^(\d+) svc\.op\.U[A-Z2-7]{55}\.svc\.admin\.follow\.[\w-]{22}$/;
  expect(acknowledged.map((one) => token.exec(one)?.[1])).toEqual(["63", "127"]);
});

test("what follows within 10 ms shares a part, and the end waits for nothing", async () => {
  const started = Promise.withResolvers<FeedSink>();
  using serving = await serve((sink) => {
    started.resolve(sink);
    return () => {};
  });
  using requesting = await request();
  const { parts } = requesting;
  const sink = await started.promise;
  const sendInTurns = async (...numbers: number[]) => {
    for (const at of numbers) {
      sink.send("number", at);
      await settle();
    }
  };
  await sendInTurns(1, 2, 3);
  await until(() => parts.length === 2);
  serving.clock.advance(10);
  await until(() => parts.length === 3);
  await sendInTurns(4, 5);
  sink.close();
  await until(() => parts.at(-1)?.kind === "end");
  const shown = parts.map((part) =>
    part.kind === "item"
      ? openItems(part.items)
          .map(({ data }) => data)
          .join()
      : part.kind,
  );
  expect(shown).toEqual(["alive", "1", "2,3", "4,5", "end"]);
});

test("a stream shows each 10 s that it lives, with the place where it is, and ends when nothing is acknowledged for 30 s", async () => {
  let isStopped = false;
  using serving = await serve((sink) => {
    sink.mark("7");
    return () => {
      isStopped = true;
    };
  });
  using requesting = await request((seq) => seq < 2);
  const { parts } = requesting;
  await until(() => parts.length === 1);
  for (let seconds = 10; seconds <= 40; seconds += 10) {
    serving.clock.advance(10_000);
    await until(() => parts.length === 1 + seconds / 10);
  }
  expect(parts.map(({ kind }) => kind)).toEqual(["alive", "alive", "alive", "alive", "alive"]);
  expect(isStopped).toBe(false);
  serving.clock.advance(10_000);
  await until(() => parts.at(-1)?.kind === "end");
  expect(parts.at(-1)).toMatchObject({ place: "7", reason: "the reader does not acknowledge" });
  expect(isStopped).toBe(true);
});

test("a stream ends when nobody listens to its inbox", async () => {
  const stopped = Promise.withResolvers<void>();
  using serving = await serve(() => () => stopped.resolve());
  const { parts, leave } = await request();
  await until(() => parts.length === 1);
  leave();
  await operator.nats.flush();
  serving.clock.advance(10_000);
  await stopped.promise;
});

test("a feed waits for a reader that is slow", async () => {
  let sent = 0;
  const stopping = new AbortController();
  const start = (sink: FeedSink) => {
    void (async () => {
      for (; sent < 2_000; sent++) {
        await sink.ready(stopping.signal);
        sink.send("large", "z".repeat(60_000));
      }
      sink.close();
    })().catch(() => {});
    return () => stopping.abort(new Error("the reader left"));
  };
  using _ = await serve(start);
  const reading = follow()[Symbol.asyncIterator]();
  await reading.next();
  await until(() => sent >= 256);
  await operator.nats.flush();
  expect(sent).toBeLessThan(400);
  let count = 1;
  while (!(await reading.next()).done) count++;
  expect(count).toBe(2_000);
});

test("a reader continues behind the last item when its master stops", async () => {
  const requested: (string | undefined)[] = [];
  const send = (sink: FeedSink, after: string | undefined) => {
    requested.push(after);
    const first = Number(after ?? 0) + 1;
    sink.send("number", first, `${first}`);
    sink.send("number", first + 1, `${first + 1}`);
    return () => {};
  };
  const found: unknown[] = [];
  const first = await serve(send);
  const reading = follow()[Symbol.asyncIterator]();
  const next = async () => void found.push((await reading.next()).value?.data);
  await next();
  await next();
  first[Symbol.dispose]();
  using _ = await serve(send);
  await next();
  await next();
  expect(found).toEqual([1, 2, 3, 4]);
  expect(requested).toEqual([undefined, "2"]);
  await reading.return(undefined);
});

test("a reader continues when its master is silent for 30 s", async () => {
  const requested: (string | undefined)[] = [];
  using _ = await serve((sink, after) => {
    requested.push(after);
    sink.send("number", requested.length, `${requested.length}`);
    return () => {};
  });
  const clock = manualClock();
  const patient: Bus = Object.create(operator, { clock: { value: clock } });
  const reading = followFeed(patient, binding, {}, never, { operator: "ann" });
  expect((await reading.next()).value?.data).toBe(1);
  const second = reading.next();
  for (const ms of [30_000, 250]) {
    await clock.asleep();
    clock.advance(ms);
  }
  expect((await second).value?.data).toBe(2);
  expect(requested).toEqual([undefined, "1"]);
  await reading.return(undefined);
});

test("a stream that breaks off without a place is an error that says why, and so is one that nobody serves", async () => {
  using _ = await serve((sink) => {
    sink.send("number", 1);
    sink.close("the storage is away");
    return () => {};
  });
  const reading = follow()[Symbol.asyncIterator]();
  expect((await reading.next()).value?.data).toBe(1);
  await expect(reading.next()).rejects.toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining("the storage is away"),
  });
});

test("a refusal is that of the master, and a signal ends the reading", async () => {
  using _ = await serve(() => () => {});
  await expect(follow({ before: 1 } as never).next()).rejects.toMatchObject({ kind: "bad_request" });
  const left = new AbortController();
  const waiting = follow({}, left.signal).next();
  left.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

test("a server that refuses to publish is a refusal with who can change that", async () => {
  const other = { operation: numbers, bus: { subject: "x" } };
  const without: Bus = Object.create(operator, {
    user: { value: newKeyPair("user", systemRandom).publicKey },
  });
  await expect(followFeed(without, other, {}, never, { operator: "ann" }).next()).rejects.toMatchObject({
    kind: "forbidden",
  });
});
