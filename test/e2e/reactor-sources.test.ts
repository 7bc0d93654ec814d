import { afterAll, beforeAll, expect, test } from "bun:test";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { jobDoors } from "../../internal/fleet/jobs/doors.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { followJobs, reactionOf, rulesDirectory } from "../harness/reactor.ts";
import { until } from "../harness/until.ts";

// Returns are read while a rule can match them, by the master that runs the reactor.

const without = `
rules:
  - name: elsewhere
    match: [disk/full, svc/schedule/*]
    do:
      - emit: { tag: seen }
`;
const withReturns = `${without}
  - name: note
    match: svc/job/*/return/*
    when: { data.function: test.ping }
    throttle: 0s
    do:
      - job: { target: "\${source}", function: test.echo, args: { text: "\${data.jid}" } }
`;

const directory = rulesDirectory(without);
let bus: TestBus;
/** Dispatches jobs and never runs the reactor. */
let door: TestMaster;
let fleet: Bus;
let peel: ManualPeel;
let jobs: Awaited<ReturnType<typeof followJobs>>;

beforeAll(async () => {
  bus = await startBus();
  door = await startMaster(bus, { config: { reactor: { enabled: false } } });
  fleet = await connectTo(bus, "master");
  peel = await connectManualPeel(bus, await enrollPeel(door, "web1"));
  jobs = await followJobs(fleet);
});
afterAll(async () => {
  jobs?.stop();
  await peel?.[Symbol.asyncDispose]();
  await fleet?.nats.close();
  await door?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** A job of which the peel has stored its return. @returns its id */
async function returnedPing(): Promise<string> {
  const request = encode({ operator: "test", target: "web1", function: "test.ping" });
  const reply = decode(
    (await fleet.nats.request(jobDoors.createJob.bus.subject, request, { timeout: 30_000 })).data,
  );
  const { jid } = reply as { jid: string };
  // Reactions send commands as well.
  while ((await peel.next("dispatch")).jid !== jid);
  await peel.answer(jid);
  return jid;
}

const reacting = () => startMaster(bus, { config: directory.config({ source_rate_limit: 0 }) });

async function sourcesBecome(...wanted: string[]): Promise<void> {
  const manager = await fleet.nats.jetstreamManager();
  const check = async () => {
    const found: string[] = [];
    for await (const { name } of manager.consumers.list("job-events")) {
      if (name.startsWith("reactor-")) found.push(name);
    }
    return found.sort();
  };
  await until(check, (found) => Bun.deepEquals(found, wanted));
}

const noted = () =>
  [...jobs.jobs.values()].filter((job) => reactionOf(job)?.rule === "note").map(({ args }) => args.text);

test("a rule about returns sees those from when it was loaded, and across a change of the master that reacts", async () => {
  const manager = await fleet.nats.jetstreamManager();
  // As a master that read everything left it.
  await manager.consumers.add("job-events", { durable_name: "reactor-schedules" });
  const expected: string[] = [];
  {
    await using _first = await reacting();
    await sourcesBecome();
    await returnedPing();
    directory.write("rules.yaml", withReturns);
    await sourcesBecome("reactor-returns");
    expected.push(await returnedPing());
    await jobs.until(() => noted().length === 1);
  }
  // No master runs the reactor: the next one gets the events from now on.
  expected.push(await returnedPing());
  await using _second = await reacting();
  await jobs.until(() => noted().length === 2);
  directory.write("rules.yaml", without);
  await sourcesBecome();
  await returnedPing();
  directory.write("rules.yaml", withReturns);
  await sourcesBecome("reactor-returns");
  expected.push(await returnedPing());
  await jobs.until(() => noted().length === 3);
  expect(noted()).toEqual(expected);
});
