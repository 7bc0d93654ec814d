import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import type { Bus } from "../connection/connect.ts";
import { readRange } from "./read-range.ts";

let bus: TestBus;
let owner: Bus;

beforeAll(async () => {
  bus = await startBus();
  owner = await connectTo(bus, "master");
  const manager = await owner.nats.jetstreamManager();
  await manager.streams.add({ name: "numbers", subjects: ["numbers.>"] });
  for (let i = 1; i <= 20; i++) await owner.nats.jetstream().publish("numbers.x", `${i}`);
});
afterAll(async () => {
  await owner?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

/** The bus, where a number of readers are gone when they request messages, as after an election. */
function losing(readers: number): Bus {
  let left = readers;
  const lost = async (subject: string) => {
    const [stream = "", name = ""] = subject.split(".").slice(-2);
    const manager = await owner.nats.jetstreamManager();
    await manager.consumers.delete(stream, name);
  };
  const nats = new Proxy(owner.nats, {
    get(target, property) {
      if (property !== "publish") return Reflect.get(target, property, target);
      return (...[subject, ...rest]: Parameters<typeof target.publish>) => {
        const send = () => target.publish(subject, ...rest);
        if (!subject.includes("MSG.NEXT") || left === 0) return send();
        left--;
        void lost(subject).then(send);
      };
    },
  });
  return { ...owner, nats };
}

const numbers = async (from: Bus) =>
  (await readRange(from, "numbers", { from: 1, count: 100 })).map(({ sequence }) => sequence);
const all = Array.from({ length: 20 }, (_, index) => index + 1);

test("what the bus breaks off is read again, and nothing is missing", async () => {
  expect(await numbers(owner)).toEqual(all);
  expect(await numbers(losing(3))).toEqual(all);
});

test("what it breaks off again and again is an error, and not an empty stream", async () => {
  await expect(numbers(losing(4))).rejects.toThrow("the stream numbers is not available");
});

test("a limit of bytes ends a batch early, and a single message comes whatever its size", async () => {
  for (let i = 0; i < 3; i++) await owner.nats.jetstream().publish("numbers.large", "x".repeat(1_000));
  const lengths = async (maxBytes: number) => {
    const found = await readRange(owner, "numbers", { from: 20, count: 10, maxBytes });
    return found.map(({ data }) => data.length);
  };
  expect(await lengths(100_000)).toEqual([2, 1_000, 1_000, 1_000]);
  expect(await lengths(1_700)).toEqual([2, 1_000]);
  expect(await lengths(20)).toEqual([2]);
});

test("a connection that closes before it asks leaves no timer behind", async () => {
  const clock = manualClock();
  const nats = new Proxy(owner.nats, {
    get(target, property) {
      if (property !== "subscribe") return Reflect.get(target, property, target);
      return () => {
        throw new Error("the connection is closed");
      };
    },
  });
  await expect(numbers({ ...owner, nats, clock })).rejects.toThrow("the stream numbers is not available");
  expect(clock.pending).toBe(0);
});
