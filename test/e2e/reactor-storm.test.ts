import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { eventSubject } from "../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { figures, figuresBecome, rulesDirectory, total } from "../harness/reactor.ts";
import { type MasterProcess, startMasterProcess } from "../harness/reactor-process.ts";

// A storm of events: what is not reacted to is counted under a cause, and memory does not follow the storm.

setDefaultTimeout(150_000);

const storm = 50_000;
/** What a storm may cost a master, for a while: buffers, and what limits remember. */
const maxGrowth = 160 * 1024 * 1024;
const rules =
  "rules: [{ name: all, match: storm/now, do: [{ job: { target: nobody, function: test.ping } }] }]\n";

const directory = rulesDirectory(rules);
let bus: TestBus;
let master: MasterProcess;
let fleet: Bus;

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterProcess(bus, directory.config());
  fleet = await connectTo(bus, "master");
  // Only the master that runs the reactor has breakers.
  await figuresBecome([master], (sample) => sample.get("svc_reactor_breakers_open") === 0);
});
afterAll(async () => {
  await fleet?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** Stores that many events, by turns from so many sources, as fast as the bus takes them. */
async function send(sources: number): Promise<void> {
  const payload = encode({ data: { text: "x".repeat(200) } });
  const atOnce = 2_000;
  for (let sent = 0; sent < storm; sent += atOnce) {
    const batch = Array.from({ length: atOnce }, (_, i) =>
      fleet.nats.request(eventSubject(`peel-${(sent + i) % sources}`, "storm.now"), payload, {
        timeout: 30_000,
      }),
    );
    await Promise.all(batch);
  }
}

test.each([
  ["one source", 1, "source_rate"],
  ["many sources", 5_000, "breaker_open"],
] as const)("of 50,000 events of %s each is a fire or counted as dropped", async (_, sources, cause) => {
  expect((await cli(bus, "reactor", "reset")).exit).toBe(0);
  const before = await figures(master);
  const memory = await master.memory();
  await send(sources);
  const fired = 'svc_reactor_fires_total{rule="all"}';
  const since = (sample: typeof before, name: string, label = "") =>
    total(sample, name, label) - total(before, name, label);
  let highest = memory;
  const after = await figuresBecome([master], (sample) => {
    void master.memory().then((now) => {
      highest = Math.max(highest, now);
    });
    return since(sample, fired) + since(sample, "svc_reactor_dropped_total") >= storm;
  });
  expect(since(after, fired) + since(after, "svc_reactor_dropped_total")).toBe(storm);
  expect(since(after, fired)).toBeGreaterThan(0);
  expect(since(after, "svc_reactor_dropped_total", cause)).toBeGreaterThan(storm / 2);
  expect(highest - memory).toBeLessThan(maxGrowth);
});
