import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/mod.ts";
import { eventSubject } from "../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli, type RunningCli, startCli } from "../harness/cli.ts";
import { bearer, postJson } from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { until } from "../harness/until.ts";

// svc follows events and the audit while one master after the other ends: nothing is lost, and nothing comes twice.

setDefaultTimeout(60_000);

let bus: TestBus;
let writer: Bus;
let events: RunningCli;
let audit: RunningCli;
let masters: TestMaster[] = [];

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMaster(bus)];
  writer = await connectTo(bus, "master");
  events = startCli(bus, ["events", "--follow", "--output", "jsonl", "--tag", "site/*"]);
  audit = startCli(bus, ["audit", "list", "--follow", "--output", "jsonl", "--since", "1h"]);
});
afterAll(async () => {
  await writer?.nats.close();
  for (const master of masters) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const linesOf = <T>(text: string): T[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
const numbers = () => linesOf<{ data: { at: number } }>(events.stdout).map(({ data }) => data.at);
const entries = () => linesOf<{ seq: number }>(audit.stdout).map(({ seq }) => seq);

let sent = 0;
/** An event of a peel, as the bus stores it. */
async function send(): Promise<void> {
  await writer.nats.request(eventSubject("web-1", "site.told"), encode({ data: { at: ++sent } }));
}
/** A request that is recorded, whatever becomes of it. */
async function decide(master: TestMaster | undefined): Promise<void> {
  if (master === undefined) throw new Error("no master");
  const { status } = await postJson(master, "/api/v1/enrollments/enr-x/approve", {}, { headers: bearer });
  expect(status).toBe(404);
}
const allSent = () => Array.from({ length: sent }, (_, at) => at + 1);

test("both continue at another master where the first one ends", async () => {
  const [one] = masters;
  await send();
  await decide(one);
  await until(() => numbers().length === 1 && entries().length === 2);
  masters.push(await startMaster(bus));
  await one?.[Symbol.asyncDispose]();
  masters.shift();
  for (let more = 0; more < 5; more++) {
    await send();
    await decide(masters[0]);
  }
  await until(() => numbers().length >= sent && entries().length >= 12);
  expect(numbers()).toEqual(allSent());
  expect(entries()).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
});

test("without any master both say so and wait, and then continue where they were", async () => {
  await masters.shift()?.[Symbol.asyncDispose]();
  await Promise.all(
    [events, audit].map((one) => one.wrote(/it continues from there when a master answers\n/)),
  );
  await send();
  await send();
  masters.push(await startMaster(bus));
  await Promise.all([events, audit].map((one) => one.wrote(/the masters answer again\n/)));
  await send();
  await decide(masters[0]);
  await until(() => numbers().length >= sent && entries().length >= 14);
  expect(numbers()).toEqual(allSent());
  expect(entries()).toEqual(Array.from({ length: 14 }, (_, at) => at + 1));
});

test("Ctrl-C ends both", async () => {
  for (const one of [events, audit]) {
    one.interrupt();
    expect(await one.exit).toBe(130);
  }
});

test("the audit is followed with a filter, as lines for people", async () => {
  const following = startCli(bus, ["audit", "list", "--follow", "--outcome", "failed", "--since", "1h"]);
  await following.wrote(/^14 {2}\S+Z {2}tester {2}enrollments\.approve {2}failed {2}enrollment=enr-x: .+$/m);
  expect(following.stdout.split("\n")).toHaveLength(8);
  following.interrupt();
  expect(await following.exit).toBe(130);
});

test.each([
  [["--limit", "5"], "--limit: --follow has no limit"],
  [["--until", "1h"], "--until: --follow has no end"],
  [["--outcome", "unknown"], "unknown is what never ended"],
  [["--output", "yaml"], "use --output jsonl with --follow"],
])("svc audit list --follow %p is refused", async (words, message) => {
  const ran = await cli(bus, "audit", "list", "--follow", ...words);
  expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining(message)]);
});
