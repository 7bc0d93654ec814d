import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { until } from "../../../test/harness/until.ts";
import { systemRandom } from "../../base/id.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { streamEnds } from "../../bus/streams/position.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { beginning, type Content, type Link, writeEntry } from "./entry.ts";
import type { RememberedAudit } from "./memory.ts";
import { createVerification } from "./verification.ts";

// What a master verifies of a stream that the bus really stores, request by request.

const key = newKeyPair("user", systemRandom);
const next = newKeyPair("user", systemRandom);
const content: Content = {
  ...{ at: Date.UTC(2026, 0, 2), master: "master-1", operator: "ann", key: "", via: "bus" },
  ...{ action: "jobs.create", subjects: {}, outcome: "done", requestId: "r-1" },
  requestDigest: new Uint8Array(32),
};

let bus: TestBus;
let owner: Bus;
let end: Link;

beforeAll(async () => {
  bus = await startBus();
  owner = await connectTo(bus, "master");
});
afterAll(async () => {
  await owner?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

async function write(count: number, signer = key): Promise<void> {
  for (let at = 0; at < count; at++) {
    const { bytes, link } = writeEntry(content, end, signer);
    owner.publish("svc.audit.jobs.create", bytes);
    end = link;
  }
  await owner.nats.flush();
  const manager = await owner.nats.jetstreamManager();
  // Published without an answer: the state of the stream tells when they are there.
  await until(async () => (await manager.streams.info("audit")).state.last_seq >= end.seq);
}

/** A new stream with a number of entries. */
async function begin(count: number) {
  const manager = await owner.nats.jetstreamManager();
  // A server that still writes can leave messages behind, which the next stream of the name begins with.
  await until(async () => {
    await manager.streams.delete("audit").catch(() => {});
    await manager.streams.add({ name: "audit", subjects: ["svc.audit.>"] });
    return (await manager.streams.info("audit")).state.last_seq === 0;
  });
  end = beginning();
  await write(count);
  const clock = manualClock();
  const known = { keys: [key.publicKey], memory: undefined as RememberedAudit | undefined };
  const memory = {
    get current() {
      return known.memory;
    },
    refresh: () => streamEnds(owner, "audit"),
  };
  const verification = createVerification({
    bus: owner,
    keys: () => known.keys,
    memory,
    clock,
    perRequest: 100,
  });
  return { manager, clock, known, check: verification.check };
}

test("a request verifies some entries, the next ones the others, and later ones what is new", async () => {
  const { check, clock } = await begin(110);
  const beganAt = clock.now();
  const common = { first: 1, found: 0, problems: [], beganAt };
  expect(await check()).toEqual({ ...common, entries: 100, verified: 100, last: 110, done: false });
  await clock.pass(60_000);
  // Two that ask at the same moment.
  expect((await Promise.all([check(), check()])).at(-1)).toMatchObject({ ...common, done: true });
  await write(1);
  expect(await check()).toEqual({ ...common, entries: 111, verified: 111, last: 111, done: true });
  expect(await check(true)).toMatchObject({ entries: 100, beganAt: beganAt + 60_000, done: false });
  await check();
  await clock.pass(3_600_001);
  expect(await check()).toMatchObject({ entries: 100, beganAt: clock.now(), done: false });
});

test("a request reads as much of a long audit as of a short one, and nothing again that is verified", async () => {
  const costs: number[] = [];
  for (const count of [150, 450]) {
    const { check } = await begin(count);
    const costOf = async () => {
      const before = owner.nats.stats().inMsgs;
      const { done } = await check();
      costs.push(owner.nats.stats().inMsgs - before);
      return done;
    };
    while (!(await costOf()));
    await costOf();
  }
  // 100 entries, the ends of the stream twice, and a reader; the last ones are 50.
  expect(costs).toEqual([103, 53, 2, ...[103, 103, 103, 103, 53, 2]]);
});

test("a key that the fleet got meanwhile counts, and one that it never had does not", async () => {
  const { check, known } = await begin(3);
  expect(await check()).toMatchObject({ entries: 3, found: 0 });
  await write(2, next);
  expect(await check()).toMatchObject({ found: 2, problems: [{ seq: 4 }, { seq: 5 }] });
  known.keys = [key.publicKey, next.publicKey];
  expect(await check()).toMatchObject({ entries: 5, found: 0, done: true });
});

test("what expired is not a problem, unless the master remembers that it had not", async () => {
  const { check, known, manager } = await begin(5);
  expect(await check()).toMatchObject({ entries: 5, found: 0 });
  await write(5);
  await manager.streams.purge("audit", { seq: 8 });
  expect(await check()).toMatchObject({ first: 8, entries: 3, verified: 10, found: 0, done: true });
  known.memory = { first: { seq: 3, at: 0 }, last: { seq: 10, hash: Buffer.from(end.hash).toString("hex") } };
  expect(await check()).toMatchObject({
    found: 1,
    problems: [{ seq: 3, problem: expect.stringContaining("3 to 7 are missing") }],
  });
});

test("an end that was removed, or replaced, is found by what the master remembers", async () => {
  const { check, known, manager } = await begin(6);
  known.memory = { first: { seq: 1, at: 0 }, last: { seq: 6, hash: Buffer.from(end.hash).toString("hex") } };
  expect(await check()).toMatchObject({ entries: 6, found: 0, done: true });
  await manager.streams.deleteMessage("audit", 6);
  expect(await check(true)).toMatchObject({ entries: 5, done: false });
  expect(await check()).toMatchObject({
    ...{ entries: 5, done: true, found: 1 },
    problems: [{ seq: 6, problem: "the entries from here to 6 are missing" }],
  });
  const { known: other, check: checkAgain } = await begin(6);
  other.memory = { first: { seq: 1, at: 0 }, last: { seq: 6, hash: "0".repeat(64) } };
  expect(await checkAgain()).toMatchObject({
    problems: [{ seq: 6, problem: expect.stringContaining("another entry") }],
  });
});
