import { expect, test } from "bun:test";
import { followJob } from "../../internal/cli/job/follow-job.ts";
import { dispatchBenchJob } from "../bench/jobs/requests.ts";
import { connectTo, startBus } from "../harness/bus.ts";
import { startMaster } from "../harness/master.ts";
import { startFleet } from "./fleet.ts";

// What a job asks of JetStream. A consumer, or a subject with a wildcard, makes servers before 2.10 look at
// every message they store, so that a job costs more the more there were before it. Newer servers find the subjects of
// one job in a tree, and are asked once which returns they stored.

test("running, following and showing a job creates no consumer and asks for no pattern but its own", async () => {
  await using bus = await startBus();
  await using _master = await startMaster(bus);
  await using fleet = await startFleet(bus, { size: 3, processes: 1, ramp: 100 });
  await fleet.greeted();
  const operator = await connectTo(bus, "admin");
  // Masters create their own consumers when they start: once, whatever is run.
  await followJob(operator, await dispatchBenchJob(operator, ping));
  const witness = await connectTo(bus, "master");
  const requested: string[] = [];
  witness.nats.subscribe("$JS.API.>", {
    callback: (_, message) => void requested.push(`${message.subject} ${message.string()}`),
  });
  await witness.nats.flush();

  const jid = await dispatchBenchJob(operator, ping);
  const { status, counts } = await followJob(operator, jid);
  expect({ status, counts }).toEqual({ status: "completed", counts: { ok: 3 } });
  expect((await followJob(operator, jid, { until: "now" })).outcomes).toEqual(
    Object.fromEntries(fleet.peels.map((peel) => [peel, "ok"])),
  );
  await witness.nats.flush();
  expect(requested.filter((request) => request.includes(jid)).length).toBeGreaterThan(0);
  // Every 5 s the master looks for what others wrote in the audit.
  const isOfAudit = /^\$JS\.API\.CONSUMER\.\w+\.audit\b/;
  const consumers = requested.filter((request) => request.startsWith("$JS.API.CONSUMER."));
  expect(consumers.filter((request) => !isOfAudit.test(request))).toEqual([]);
  expect(requested.filter((request) => /_by_subj":"[^"]*[*>]|PURGE/.test(request))).toEqual([]);
  // The master asks which returns are stored, and who follows or shows the job, which messages there are.
  const query = (filter: string) =>
    `$JS.API.STREAM.INFO.job-events ${JSON.stringify({ subjects_filter: filter, offset: 0 })}`;
  const all = query(`svc.job.${jid}.*.*`);
  const queries = requested.filter((request) => request.includes("subjects_filter"));
  const whole = queries.filter((request) => request === all).length;
  // Who follows need not ask when all returns came before its first look.
  expect([1, 2]).toContain(whole);
  expect(queries.filter((request) => request !== all)).toEqual([query(`svc.job.${jid}.return.*`)]);
  await witness.nats.close();
  await operator.nats.close();
}, 60_000);

const ping = { target: "sim-*", function: "test.ping", args: {} };
