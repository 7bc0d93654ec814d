import { afterAll, beforeAll, expect, test } from "bun:test";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { decodeJob } from "../../internal/fleet/jobs/records/record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { until } from "../harness/until.ts";
import { type Fleet, startFleet } from "./fleet.ts";

// Returns of quick functions are sent without a confirmation. What is lost on the way, or refused by the storage, is
// asked for again.

const everyone = ["sim-00000", "sim-00001", "sim-00002"];

let bus: TestBus;
let master: TestMaster;
let operator: Bus;
let fleet: Fleet;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  operator = await connectTo(bus, "master");
  fleet = await startFleet(bus, { size: everyone.length, processes: 1, ramp: 100 });
  await fleet.greeted();
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
  await operator?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function ping(): Promise<string> {
  const request = encode({ operator: "test", target: "sim-*", function: "test.ping", args: {} });
  const reply = await operator.nats.request("svc.job.request", request, { timeout: 30_000 });
  return (decode(reply.data) as { jid: string }).jid;
}

const recordOf = async (jid: string) => {
  const kv = await operator.nats.jetstream().views.kv("jobs");
  const entry = await kv.get(jid);
  return entry === null ? undefined : decodeJob(entry.value);
};
const outcomesOf = async (jid: string) => {
  const { settled } = await until(
    () => recordOf(jid),
    (job) => job?.settled !== undefined,
  ).then((job) => job ?? Promise.reject(new Error("no job")));
  return settled;
};
const stored = async (jid: string) => {
  const manager = await operator.nats.jetstreamManager();
  const filter = `svc.job.${jid}.return.*`;
  const { state } = await manager.streams.info("job-events", { subjects_filter: filter });
  return Object.keys(state.subjects ?? {}).map((subject) => subject.split(".").at(-1));
};

test("a return that is lost on its way is asked for again, and confirmed", async () => {
  await fleet.behave(["sim-00001"], { loses: true });
  const jid = await ping();
  expect(await outcomesOf(jid)).toMatchObject({ status: "completed", counts: { ok: 3 } });
  expect((await stored(jid)).toSorted()).toEqual(everyone);
  await fleet.behave(["sim-00001"], {});
}, 60_000);

test("a return that the storage refuses does not count before it is stored", async () => {
  const manager = await operator.nats.jetstreamManager();
  const { config, state } = await manager.streams.info("job-events");
  // Masters repair a stream, unless a later version of them made it.
  const metadata = { ...config.metadata, "svc.version": "1000" };
  await manager.streams.update("job-events", { ...config, max_msgs: state.messages, metadata });
  const refused = operator.nats.subscribe("svc.job.*.return.*");
  const jid = await ping();
  // Each peel sends it, then sends it again and waits for a confirmation.
  const sent = new Map<string, number>();
  for await (const { subject } of refused) {
    const peel = subject.split(".").at(-1) ?? "";
    sent.set(peel, (sent.get(peel) ?? 0) + 1);
    if (everyone.every((one) => (sent.get(one) ?? 0) > 1)) break;
  }
  expect(await recordOf(jid).then((job) => job?.settled)).toBeUndefined();
  expect(await stored(jid)).toEqual([]);
  await manager.streams.update("job-events", config);
  expect(await outcomesOf(jid)).toMatchObject({ status: "completed", counts: { ok: 3 } });
  expect((await stored(jid)).toSorted()).toEqual(everyone);
}, 60_000);
