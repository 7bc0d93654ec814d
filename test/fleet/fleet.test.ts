import { afterAll, beforeAll, expect, test } from "bun:test";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { parseJobSubject } from "../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { type Fleet, startFleet } from "./fleet.ts";

// The simulator itself: what a peel of it does, and what the harness can make it do.

let bus: TestBus;
let master: TestMaster;
let operator: Bus;
let fleet: Fleet;
const answered: { jid: string; peel: string }[] = [];
const waiting = new Set<() => void>();

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  operator = await connectTo(bus, "master");
  operator.nats.subscribe("svc.job.*.return.*", {
    callback(_, { subject }) {
      const parsed = parseJobSubject(subject);
      if (parsed !== undefined) answered.push(parsed);
      for (const check of waiting) check();
    },
  });
  fleet = await startFleet(bus, { size: 10, processes: 2, ramp: 200 });
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
  await operator?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function ping(target: string): Promise<string> {
  const request = encode({ operator: "test", target, function: "test.ping", args: {} });
  const reply = await operator.nats.request("svc.job.request", request, { timeout: 30_000 });
  return (decode(reply.data) as { jid: string }).jid;
}

/**
 * Resolves with the peels that answered, in this order, once there are so many. A peel may send a return again: it is
 * sent at least once.
 */
function answers(jid: string, count: number): Promise<string[]> {
  return new Promise((resolve) => {
    const check = () => {
      const peels = [...new Set(answered.filter((answer) => answer.jid === jid).map(({ peel }) => peel))];
      if (peels.length < count) return;
      waiting.delete(check);
      resolve(peels);
    };
    waiting.add(check);
    check();
  });
}

test("every peel connects, is a member, is greeted, and answers", async () => {
  const report = await fleet.greeted();
  expect([report.peels, report.connectedAt.length, report.greetedAt.length]).toEqual([10, 10, 10]);
  const peels = await answers(await ping("sim-*"), 10);
  expect(peels.toSorted()).toEqual([...fleet.peels].sort());
  expect(report.complaints).toEqual({});
});

test("the fleet grows by a ramp", async () => {
  await fleet.grow(2);
  expect(fleet.peels).toHaveLength(12);
  expect(await answers(await ping("sim-0001?"), 2)).toHaveLength(2);
});

test("a slow peel answers after the others, a deaf one not before it hears again", async () => {
  await fleet.behave(["sim-00000"], { slowMs: 300 });
  await fleet.behave(["sim-00001"], { deaf: true });
  const jid = await ping("sim-*");
  expect((await answers(jid, 11)).at(-1)).toBe("sim-00000");
  expect(await answers(jid, 11)).not.toContain("sim-00001");
  await fleet.behave(["sim-00000", "sim-00001"], {});
  expect((await answers(await ping("sim-*"), 12)).length).toBe(12);
});

test("a peel that was away comes back on a connection of its own", async () => {
  await fleet.goAway(["sim-00002"]);
  expect((await fleet.report()).connectedAt).toHaveLength(11);
  expect(await answers(await ping("sim-*"), 11)).not.toContain("sim-00002");
  await fleet.comeBack(["sim-00002"]);
  expect((await fleet.greeted()).connectedAt).toHaveLength(12);
  expect(await answers(await ping("sim-00002"), 1)).toEqual(["sim-00002"]);
});

test("a peel that restarts is there again", async () => {
  await fleet.restart(["sim-00003", "sim-00004"]);
  expect((await fleet.greeted()).greetedAt).toHaveLength(12);
  expect(await answers(await ping("sim-*"), 12)).toHaveLength(12);
});

test("after a restart of the bus all of them come back by themselves", async () => {
  await fleet.reset();
  await bus.restart("SIGKILL");
  expect((await fleet.greeted()).connectedAt).toHaveLength(12);
  expect(await answers(await ping("sim-*"), 12)).toHaveLength(12);
});
