import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/bucket.ts";
import type { Bus } from "../../internal/bus/connect.ts";
import { eventSubject, scheduleSubject } from "../../internal/bus/subjects.ts";
import { decodeJob } from "../../internal/fleet/jobs/record.ts";
import { openJobIdOf } from "../../internal/fleet/reactor/action-id.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { metricBecomes } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { holderBecomes, rulesDirectory } from "../harness/reactor.ts";

// A peel, its credentials in the hands of somebody else, against the reactions of the others.

setDefaultTimeout(30_000);

const rules = `
rules:
  - name: mend
    match: broken/now
    do:
      - job: { target: web1, function: test.echo, args: { text: "\${data.n}" } }
`;

const directory = rulesDirectory(rules);
let bus: TestBus;
let master: TestMaster;
let fleet: Bus;
let web: ManualPeel;
let hostile: ManualPeel;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus, { config: directory.config({ source_rate_limit: 0 }) });
  fleet = await connectTo(bus, "master");
  web = await connectManualPeel(bus, await enrollPeel(master, "web1"));
  hostile = await connectManualPeel(bus, await enrollPeel(master, "hostile"));
  await holderBecomes(fleet);
});
afterAll(async () => {
  await hostile?.[Symbol.asyncDispose]();
  await web?.[Symbol.asyncDispose]();
  await fleet?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

test("a peel cannot take the id of the job that its event leads to, and the reaction runs", async () => {
  const { nats } = hostile.connection;
  const result = {
    ...{ success: true, retcode: 0, return: "x", started_at: "2026-01-01T00:00:00.000Z", duration_ms: 1 },
    ...{ schedule: "s", function: "test.ping", args: {} },
  };
  const event = { id: "peel:hostile:mine", at: 0 };
  // The id holds the second in which the bus will have stored the event: it takes those to come.
  const seconds = Array.from({ length: 20 }, (_, ahead) => systemClock.now() + ahead * 1_000);
  const taken = seconds.map((at) => openJobIdOf({ event: { ...event, at }, rule: "mend", index: 0 }));
  for (const jid of taken) {
    await nats.request(scheduleSubject(jid, "hostile"), encode(result), { timeout: 5_000 });
  }
  await metricBecomes(master.healthUrl, 'svc_schedule_results_total\\{result="stored"\\}', taken.length);
  const sent = encode({ data: { n: "1" }, id: "mine" });
  await nats.request(eventSubject("hostile", "broken.now"), sent, { timeout: 5_000 });
  const done = 'svc_reactor_actions_total\\{action="job",result="ok"\\}';
  await metricBecomes(master.healthUrl, done, 1);
  expect(web.count("dispatch")).toBe(1);
  const command = await web.next("dispatch");
  expect(taken).not.toContain(command.jid);
  const jobs = await openBucket(fleet, "jobs");
  const stored = await jobs.get(command.jid);
  expect(stored && decodeJob(stored.value)).toMatchObject({ createdBy: "reactor:mend", args: { text: "1" } });
});
