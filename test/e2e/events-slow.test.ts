import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { connect, type TLSSocket } from "node:tls";
import { systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { eventSubject } from "../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { binaries, type MasterDaemon, startMasterBinary } from "../harness/fleet.ts";
import { runRecord } from "../harness/run-record.ts";
import { operatorConfig } from "../harness/svc.ts";
import { until } from "../harness/until.ts";
import { memoryOf } from "../harness/usage.ts";

// Many large events, and readers that take nothing.

setDefaultTimeout(120_000);

const maxEvents = 24_000;
const slowReaders = 32;
/** Random, so that nothing on the way makes it smaller. */
const note = Buffer.from(systemRandom(900)).toString("base64");
const allMib = (maxEvents * note.length) / 1024 ** 2;

let bus: TestBus;
let master: MasterDaemon;
/** Of several programs: one of them follows 16 streams at a time. */
const tokens: string[] = [];
const readersOfToken = 12;

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus);
  for (let at = 0; at <= slowReaders / readersOfToken; at++) tokens.push(await newToken(`reader-${at}`));
  const writer = await connectTo(bus, "master");
  for (let at = 0; at < maxEvents; at++) {
    const subject = eventSubject(`web-${at % 1_000}`, "site.told");
    const value = encode({ data: { at, note } });
    // The stream stores in order: an answer to one of them says that those before it are stored.
    if (at % 500 === 499) await writer.nats.request(subject, value, { timeout: 30_000 });
    else writer.nats.publish(subject, value);
  }
  await writer.nats.close();
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function newToken(name: string): Promise<string> {
  const made = await send(master.url, bus.caPem, {
    ...{ method: "POST", path: "/api/v1/tokens" },
    headers: { authorization: `Bearer ${master.token}`, "content-type": "application/json" },
    body: JSON.stringify({ name, roles: ["operator"], expires: "1h" }),
  });
  const { token } = made.json as { token: string };
  runRecord.register("token", token);
  return token;
}

let readers = 0;
/** A reader of the stream of events over TLS, which takes nothing until `read`. */
function openReader() {
  const numbers: number[] = [];
  let rest = "";
  const socket: TLSSocket = connect({
    ...{ host: "localhost", port: Number(new URL(master.url).port), ca: bus.caPem },
  });
  const token = tokens[Math.floor(readers++ / readersOfToken)];
  const lines = ["GET /api/v1/events?since=1h HTTP/1.1", "Host: localhost"];
  socket.write([...lines, `Authorization: Bearer ${token}`, "", ""].join("\r\n"));
  return {
    /** The events that it got, as they were counted when they were sent. */
    numbers,
    socket,
    read() {
      socket.on("data", (bytes: Buffer) => {
        const parts = (rest + bytes.toString()).split(/"at":(\d+)/);
        rest = parts.pop() ?? "";
        for (const [at, part] of parts.entries()) if (at % 2 === 1) numbers.push(Number(part));
      });
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

test("readers that take nothing cost a master little, and keep nobody from reading", async () => {
  const slow = Array.from({ length: slowReaders }, openReader);
  try {
    // The first bytes are on the way: their streams have begun.
    await until(() => slow.every(({ socket }) => socket.bytesRead > 16_384));
    const before = memoryOf(master.program.pid).privateMib;
    using fast = openReader();
    fast.read();
    await until(() => fast.numbers.length === maxEvents);
    expect(fast.numbers).toEqual(Array.from({ length: maxEvents }, (_, at) => at));
    // What all of them have not read would be 32 times as much; the rest is garbage of the one that reads.
    const more = memoryOf(master.program.pid).privateMib - before;
    expect(more).toBeLessThan((slowReaders * allMib) / 4);
    for (const { socket } of slow) expect(socket.bytesRead).toBeLessThan(4 * 1024 ** 2);
    // One of them reads after all, and gets everything in order.
    const [late] = slow;
    late?.read();
    await until(() => late?.numbers.length === maxEvents);
    expect(late?.numbers).toEqual(fast.numbers);
  } finally {
    for (const one of slow) one[Symbol.dispose]();
  }
});

test("svc events reads no further than what it can write", async () => {
  const words = ["events", "--since", "1h", "--output", "jsonl"];
  await using child = Bun.spawn([binaries.cli, "--config", operatorConfig(bus), ...words], {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  });
  const reader = child.stdout.getReader();
  const first = await reader.read();
  expect(first.done).toBe(false);
  // It asks for pages of 500 events until the pipe is full; then it stays where it is.
  const sent = await until(
    () => memoryOf(child.pid).privateMib,
    (() => {
      let last = 0;
      let same = 0;
      return (now: number) => {
        same = Math.abs(now - last) < 0.5 ? same + 1 : 0;
        last = now;
        return same > 10;
      };
    })(),
  );
  expect(sent).toBeLessThan(100);
  let text = Buffer.from(first.value ?? []).toString();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += Buffer.from(part.value).toString();
  }
  const numbers = text
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { data: { at: number } }).data.at);
  expect(numbers).toEqual(Array.from({ length: maxEvents }, (_, at) => at));
  expect(await child.exited).toBe(0);
});

test("svc events ends when nobody reads it any more", async () => {
  const words = ["events", "--since", "1h", "--follow"];
  await using child = Bun.spawn([binaries.cli, "--config", operatorConfig(bus), ...words], {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  });
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  expect(await child.exited).toBe(1);
});
