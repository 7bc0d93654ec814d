import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ErrorCode, NatsError } from "nats";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import type { LogRecord } from "../../../test/harness/log.ts";
import { observedLog } from "../../../test/harness/peel-connection.ts";
import type { Bus } from "../connection/connect.ts";
import { type Consumer, consume, removeConsumer } from "./consumer.ts";

let server: TestBus;
let bus: Bus;
let streams = 0;

beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
});
afterAll(async () => {
  await bus?.nats.close();
  await server?.[Symbol.asyncDispose]();
});

async function newStream() {
  const stream = `test-${++streams}`;
  const subject = (name: string) => `${stream}.${name}`;
  const manager = await bus.nats.jetstreamManager();
  await manager.streams.add({ name: stream, subjects: [subject("*")] });
  return {
    manager,
    options: {
      stream,
      durable: "shared",
      filter: subject("*"),
      backoffMs: [1_000] as [number],
      maxDeliveries: 3,
      atOnce: 8,
    },
    put: async (...names: string[]) => {
      for (const name of names) await bus.nats.request(subject(name), name, { timeout: 5_000 });
    },
  };
}

/** What handlers received, and the moment when they had received that many. */
function collector() {
  const seen: string[] = [];
  const waiting = new Set<() => void>();
  return {
    seen,
    take: async ({ data }: { data: Uint8Array }) => {
      seen.push(Buffer.from(data).toString());
      for (const check of waiting) check();
    },
    until: (enough: () => boolean) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (enough()) resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

/** Another master: its own connection, and its log. */
async function another(clock = bus.clock) {
  const log = observedLog();
  const own = await connectTo(server, "master");
  const seen: Bus = Object.create(own, { log: { value: log }, clock: { value: clock } });
  return { bus: seen, log, close: () => own.nats.close() };
}

const stopAll = (...consumers: Consumer[]) => Promise.all(consumers.map((one) => one.stop()));
const names = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`);

test("two masters share existing and new messages, each message once", async () => {
  const { options, put } = await newStream();
  await put(...names(20));
  const { seen, take, until } = collector();
  const other = await another();
  const first = consume(bus, options, take);
  const second = consume(other.bus, options, take);
  await until(() => seen.length >= 20);
  expect([first.running, second.running]).toContain(true);
  await put(...names(200).map((name) => `late-${name}`));
  await until(() => seen.length >= 220);
  expect(new Set(seen).size).toBe(220);
  await stopAll(first, second);
  expect([first.running, second.running]).toEqual([false, false]);
  await other.close();
});

test("messages that a master was handling when it died go to another", async () => {
  const { options, put } = await newStream();
  await put(...names(5));
  const held = collector();
  const dying = await another();
  consume(dying.bus, options, async (message) => {
    await held.take(message);
    await new Promise(() => {});
  });
  await held.until(() => held.seen.length === 5);
  const { seen, take, until } = collector();
  const standing = consume(bus, options, take);
  await dying.close();
  await until(() => new Set(seen).size === 5);
  await standing.stop();
});

test("a message whose handling fails is delivered again, until it is given up", async () => {
  const { options, put } = await newStream();
  const { log, bus: own, close } = await another();
  const { seen, take, until } = collector();
  const consumer = consume(own, { ...options, backoffMs: [50] }, async (message) => {
    await take(message);
    const times = seen.filter((one) => one === Buffer.from(message.data).toString()).length;
    if (seen.at(-1) === "never" || times < 2) throw new Error("not now");
  });
  await put("never", "later");
  await log.logged("message given up");
  await until(() => seen.length === 5);
  expect(seen.toSorted()).toEqual(["later", "later", "never", "never", "never"]);
  const events = log.records.map(({ event }: LogRecord) => event);
  expect(events.filter((event) => event === "message not handled")).toHaveLength(3);
  await consumer.stop();
  await close();
});

test("a consumer with another configuration gets the new one", async () => {
  const { manager, options, put } = await newStream();
  for (const changed of [options, { ...options, backoffMs: [2_000, 3_000] as const, maxDeliveries: 9 }]) {
    const { seen, take, until } = collector();
    const consumer = consume(bus, changed, take);
    await put("a");
    await until(() => seen.length > 0);
    await consumer.stop();
  }
  const { config } = await manager.consumers.info(options.stream, options.durable);
  expect([config.max_deliver, config.backoff]).toEqual([9, [2e9, 3e9]]);
});

test("a consumer that is as it should be is not written again", async () => {
  const { manager, options, put } = await newStream();
  const run = async (name: string) => {
    const { seen, take, until } = collector();
    const consumer = consume(bus, options, take);
    await put(name);
    await until(() => seen.includes(name));
    await consumer.stop();
  };
  await run("a");
  const { stream, durable } = options;
  const { config } = await manager.consumers.info(stream, durable);
  await manager.consumers.update(stream, durable, { ...config, description: "kept" });
  await run("b");
  expect((await manager.consumers.info(stream, durable)).config.description).toBe("kept");
});

test("a consumer with a start time starts there, continues where it was, and starts there again after its removal", async () => {
  const { manager, options, put } = await newStream();
  const { seen, take, until } = collector();
  const storedAt = async (seq: number) => {
    const { time } = await manager.streams.getMessage(options.stream, { seq });
    return time.getTime();
  };
  await put("before");
  const before = await storedAt(1);
  let last = 1;
  do await put("after");
  while ((await storedAt(++last)) < before + 5);
  let since = before + 3;
  const run = async (name: string) => {
    const consumer = consume(bus, { ...options, since: () => since }, take);
    await until(() => seen.includes(name));
    await consumer.stop();
  };
  await run("after");
  await put("meanwhile");
  since = before + 1_000_000;
  await run("meanwhile");
  expect(seen).not.toContain("before");
  expect(seen.filter((name) => name === "meanwhile")).toHaveLength(1);
  await removeConsumer(bus, options.stream, options.durable);
  await removeConsumer(bus, options.stream, options.durable);
  since = before - 1;
  await run("before");
});

describe("a consumer continues", () => {
  test.each(["SIGTERM", "SIGKILL"] as const)("after the bus ended by %s and restarted", async (signal) => {
    const { options, put } = await newStream();
    const { seen, take, until } = collector();
    const consumer = consume(bus, options, take);
    expect(consumer.running).toBe(false);
    await consumer.attempted;
    expect(consumer.running).toBe(true);
    await put("before");
    await until(() => seen.includes("before"));
    const back = new Promise<void>((resolve) => bus.onReconnect(resolve));
    await server.restart(signal);
    await back;
    await put("after");
    await until(() => seen.includes("after"));
    expect(consumer.running).toBe(true);
    await consumer.stop();
  });

  test("after it was deleted", async () => {
    const { manager, options, put } = await newStream();
    const { log, bus: own, close } = await another();
    const { seen, take, until } = collector();
    const consumer = consume(own, options, take);
    await put("before");
    await until(() => seen.includes("before"));
    await manager.consumers.delete(options.stream, options.durable);
    await log.logged("consumer not running");
    await consumer.attempted;
    expect(consumer.running).toBe(false);
    await put("after");
    await until(() => seen.includes("after"));
    expect(consumer.running).toBe(true);
    await consumer.stop();
    await close();
  });

  test("every 5 s or sooner after it ran, until it runs again", async () => {
    const clock = manualClock();
    const { log, bus: own, close } = await another(clock);
    const { seen, take, until } = collector();
    const { manager, options, put } = await newStream();
    const consumer = consume(own, options, take);
    await put("before");
    await until(() => seen.includes("before"));
    await manager.streams.delete(options.stream);
    for (const retry of [2_000, 4_000, 5_000, 5_000]) {
      const { fields } = await log.logged("consumer not running");
      expect(fields).toMatchObject({ retry_in_ms: retry });
      log.records.length = 0;
      await clock.asleep();
      clock.advance(retry);
    }
    await log.logged("consumer not running");
    await manager.streams.add({ name: options.stream, subjects: [options.filter] });
    await put("after");
    await clock.asleep();
    clock.advance(5_000);
    await until(() => seen.includes("after"));
    await consumer.stop();
    await close();
  });

  test("every 5 s or sooner while nobody answers, also if it never ran", async () => {
    const clock = manualClock();
    const { log, bus: own, close } = await another(clock);
    const { options } = await newStream();
    const jetstreamManager = () => Promise.reject(NatsError.errorForCode(ErrorCode.Timeout));
    const silent: Bus = Object.create(own, {
      nats: { value: Object.create(own.nats, { jetstreamManager: { value: jetstreamManager } }) },
    });
    const consumer = consume(silent, options, async () => {});
    for (const retry of [2_000, 4_000, 5_000]) {
      expect((await log.logged("consumer not running")).fields).toMatchObject({ retry_in_ms: retry });
      log.records.length = 0;
      await clock.asleep();
      clock.advance(retry);
    }
    await consumer.stop();
    await close();
  });

  test("every 60 s when it cannot be made, until it can", async () => {
    const clock = manualClock();
    const { log, bus: own, close } = await another(clock);
    const { seen, take, until } = collector();
    const { manager, options, put } = await newStream();
    await manager.streams.delete(options.stream);
    const consumer = consume(own, options, take);
    const { fields } = await log.logged("consumer not running");
    expect(fields).toMatchObject({ consumer: "shared", retry_in_ms: 60_000 });
    expect(consumer.running).toBe(false);
    await manager.streams.add({ name: options.stream, subjects: [options.filter] });
    await put("a");
    clock.advance(60_000);
    await until(() => seen.includes("a"));
    expect(consumer.running).toBe(true);
    await consumer.stop();
    await close();
  });
});
