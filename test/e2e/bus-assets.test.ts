import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AckPolicy } from "nats";
import { systemClock } from "../../internal/base/clock.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { observedLog, refusals } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Who once had the credentials of a master changes its streams and consumers, and adds some, under a compiled master.

setDefaultTimeout(120_000);

let bus: TestBus;
let master: MasterDaemon;
let thief: Bus;

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus);
  thief = await connectTo(bus, "master");
});
afterAll(async () => {
  await thief?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const manager = () => thief.nats.jetstreamManager();
const lint = async (...flags: string[]) => {
  const { code, stdout } = await svc(bus, "bus", "lint", "--output", "json", ...flags);
  return { code, ...JSON.parse(stdout) };
};
const restored = async () => {
  const text = await (await fetch(`${master.healthUrl}/metrics`)).text();
  return Number(/^svc_bus_assets_restored_total (\d+)$/m.exec(text)?.[1]);
};

test("a consumer and a stream that were changed are as before, and it is counted", async () => {
  const jsm = await manager();
  // A master makes its consumers after it is ready.
  const before = await until(
    () => jsm.consumers.info("job-events", "schedule-results").catch(() => undefined),
    (found) => found !== undefined,
  );
  const ageBefore = (await jsm.streams.info("job-events")).config.max_age;
  expect(await lint()).toEqual({ code: 0, changed: [], foreign: [] });
  expect(await restored()).toBe(0);

  const filter = "svc.job.*.schedule.nobody";
  await jsm.consumers.update("job-events", "schedule-results", { filter_subject: filter });
  await until(
    () => jsm.consumers.info("job-events", "schedule-results").catch(() => undefined),
    (found) => found?.config.filter_subject === before?.config.filter_subject,
  );
  await jsm.streams.update("job-events", { max_age: 3_600_000_000_000 });
  await until(
    async () => (await jsm.streams.info("job-events")).config.max_age,
    (age) => age === ageBefore,
  );
  await until(restored, (count) => count >= 2);
  expect(master.program.output()).toContain("a consumer of the masters was changed by someone else");
  await until(lint, ({ code }) => code === 0);
});

test("consumers that no master made are named and removed, and those of masters stay", async () => {
  const jsm = await manager();
  const made = {
    ack_policy: AckPolicy.None,
    deliver_subject: "svc.job.x.return.y",
    filter_subject: "svc.job.>",
  };
  await jsm.consumers.add("KV_facts", { ...made, durable_name: "copy" });
  await jsm.consumers.add("KV_enrollments", { ack_policy: AckPolicy.None, durable_name: "all-places" });
  const found = await lint();
  expect(found).toMatchObject({ code: 1, changed: [] });
  const named = found.foreign.map(
    ({ stream, name }: { stream: string; name: string }) => `${stream} ${name}`,
  );
  expect(named.sort()).toEqual(["KV_enrollments all-places", "KV_facts copy"]);
  expect((await svc(bus, "status")).stdout).toContain("all-places");

  const { code, removed } = await lint("--remove-foreign");
  expect([code, removed.length]).toEqual([0, 2]);
  expect(await lint()).toEqual({ code: 0, changed: [], foreign: [] });
  expect((await jsm.consumers.info("job-events", "schedule-results")).name).toBe("schedule-results");
});

test("an operator can do neither", async () => {
  const log = observedLog();
  const operator = await connectBus({
    ...{ urls: [bus.url], name: "test-operator", ca: bus.caPem, clock: systemClock, log },
    identity: { credentials: readFileSync(join(bus.authDir, "admin.creds"), "utf8") },
  });
  const subjects = [
    "$JS.API.CONSUMER.CREATE.job-events.copy.svc.job.>",
    "$JS.API.CONSUMER.DURABLE.CREATE.job-events.schedule-results",
    "$JS.API.CONSUMER.DELETE.job-events.schedule-results",
    "$JS.API.STREAM.UPDATE.job-events",
  ];
  for (const subject of subjects) {
    const tried = await refusals(operator, log.records, () => operator.nats.publish(subject, "{}"));
    expect(tried).toEqual([subject]);
  }
  await operator.nats.close();
});
