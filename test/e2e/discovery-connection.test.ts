import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Connection, createConnection } from "../../internal/agent/link/connection.ts";
import { systemClock } from "../../internal/base/clock.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { observedLog } from "../harness/peel-connection.ts";

// A peel's connection across reconnects and moves, on a real bus.

let bus: TestBus;
let other: Bus;

beforeAll(async () => {
  bus = await startBus();
  other = await connectTo(bus, "master");
});
afterAll(async () => {
  await other?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

async function start() {
  const opened: Bus[] = [await connectTo(bus, "master")];
  const log = observedLog();
  let fails = 0;
  const connection = createConnection({
    first: { bus: opened[0] as Bus, urls: ["tls://old:4222"] },
    async open() {
      if (fails-- > 0) throw new Error("refused");
      const made = await connectTo(bus, "master");
      opened.push(made);
      return made;
    },
    clock: { ...systemClock, after: (ms, run) => systemClock.after(ms / 100, run) },
    jitter: () => 0,
    log,
  });
  const got: string[] = [];
  connection.subscribe("test.subject", (_, data) => got.push(Buffer.from(data).toString()));
  const failNext = (times: number) => {
    fails = times;
  };
  return { connection, opened, log, got, failNext };
}

/** Publishes a message, and returns when the subscribers have received it. */
async function report(connection: Connection, text: string) {
  const answer = connection.request("test.echo", Buffer.from(text), 5_000);
  await answer;
  other.nats.publish("test.subject", text);
  await other.nats.flush();
  await connection.request("test.echo", Buffer.from(text), 5_000);
}

function echo() {
  const subscription = other.nats.subscribe("test.echo", {
    callback: (_, message) => message.respond(message.data),
  });
  return { [Symbol.dispose]: () => subscription.unsubscribe() };
}

test("moving takes every subscription along, and ends the old connection", async () => {
  using _ = echo();
  const { connection, opened, got } = await start();
  let connects = 0;
  const stop = connection.onConnect(() => connects++);
  await report(connection, "one");
  expect(await connection.repoint(["tls://new:4222"])).toBe(true);
  await opened[0]?.closed;
  await report(connection, "two");
  expect([got, connects, connection.urls, connection.connected]).toEqual([
    ["one", "two"],
    2,
    ["tls://new:4222"],
    true,
  ]);
  stop();
  await connection.repoint(["tls://old:4222"]);
  expect(connects).toBe(2);
  await connection.stop();
  expect(opened.map(({ connected }) => connected)).toEqual([false, false, false]);
});

test("servers that take nobody change nothing", async () => {
  using _ = echo();
  const { connection, opened, got, failNext } = await start();
  failNext(1);
  expect(await connection.repoint(["tls://new:4222"])).toBe(false);
  await report(connection, "still here");
  expect([got, opened.length, connection.urls]).toEqual([["still here"], 1, ["tls://old:4222"]]);
  await connection.stop();
});

test("two moves at once come one after the other", async () => {
  using _ = echo();
  const { connection, opened, got } = await start();
  expect(await Promise.all([connection.repoint(["tls://a:1"]), connection.repoint(["tls://b:1"])])).toEqual([
    true,
    true,
  ]);
  await opened[1]?.closed;
  await report(connection, "once");
  expect([got, connection.urls]).toEqual([["once"], ["tls://b:1"]]);
  await connection.stop();
});

test("a connection that ended for good is opened again, however often that takes", async () => {
  using _ = echo();
  const { connection, opened, log, got, failNext } = await start();
  failNext(3);
  await opened[0]?.nats.close();
  await log.logged("bus connection moved");
  await report(connection, "back");
  expect([got, connection.connected]).toEqual([["back"], true]);
  expect(log.records.filter(({ event }) => event === "bus not reachable at other servers")).toHaveLength(3);
  await connection.stop();
});

test("a stopped connection opens no other", async () => {
  const { connection, opened } = await start();
  await connection.stop();
  expect(await connection.repoint(["tls://new:4222"])).toBe(false);
  expect(opened).toHaveLength(1);
});
