import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { bearer, call, enrollNew, metricBecomes, newEnrollee, postJson } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// What a master shows at /metrics, each number after what it counts has really happened.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

const day = 24 * 3600;

let bus: TestBus;
let master: TestMaster;
let peel: ManualPeel;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  peel = await connectManualPeel({ url: bus.url, caPem: bus.caPem }, await enrollPeel(master, "counted"));
  await peel.beat();
});

afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** All samples of a master whose names begin with `svc_`. */
async function samples({ healthUrl } = master): Promise<Map<string, number>> {
  const text = await (await fetch(`${healthUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("svc_"));
  return new Map(lines.map((line) => [line.replace(/ \S+$/, ""), Number(line.replace(/^.* /, ""))]));
}

const becomes = (name: string, wanted: number) =>
  metricBecomes(master.healthUrl, name.replace(/[{}"]/g, "\\$&"), wanted);

async function dispatch(timeout: string): Promise<string> {
  const body = { targets: [peel.peelId], function: "test.ping", timeout };
  const made = await postJson(master, "/api/v1/jobs", body, { headers: bearer });
  return (made.json as { jid: string }).jid;
}

test("jobs by status, their targets by outcome, and how long commands and returns take", async () => {
  const jid = await dispatch("30s");
  await peel.next("dispatch");
  await becomes("svc_jobs_running", 1);
  await peel.answer(jid);
  await becomes('svc_jobs_total{status="completed"}', 1);
  await becomes("svc_jobs_running", 0);
  const counted = await samples();
  expect(counted.get('svc_job_targets_total{outcome="ok"}')).toBe(1);
  expect(counted.get('svc_job_targets_total{outcome="failed"}')).toBe(0);
  for (const name of ["svc_job_dispatch_seconds", "svc_job_return_seconds"]) {
    expect([name, counted.get(`${name}_count`)]).toEqual([name, 1]);
    expect(counted.get(`${name}_sum`)).toBeGreaterThanOrEqual(0);
    expect(counted.get(`${name}_sum`)).toBeLessThan(10);
  }
});

test("a return that comes late changes no outcome, and no job is counted twice", async () => {
  const jid = await dispatch("200ms");
  await peel.next("dispatch");
  await becomes('svc_job_targets_total{outcome="timeout"}', 1);
  await peel.answer(jid);
  await until(
    () => call(master, { method: "GET", path: `/api/v1/jobs/${jid}`, headers: bearer }),
    ({ text }) => text.includes('"late":true'),
  );
  const counted = await samples();
  expect(counted.get('svc_job_targets_total{outcome="ok"}')).toBe(1);
  expect(counted.get('svc_job_targets_total{outcome="timeout"}')).toBe(1);
  expect(counted.get('svc_jobs_total{status="failed"}')).toBe(1);
  expect(counted.get('svc_jobs_total{status="completed"}')).toBe(1);
});

test("enrollments by state, who is alive, and when the first credentials end", async () => {
  await enrollNew(master, newEnrollee());
  await becomes('svc_enrollments{state="pending"}', 1);
  await becomes("svc_peels_alive", 1);
  const counted = await samples();
  expect(counted.get('svc_enrollments{state="issued"}')).toBe(1);
  expect(counted.get("svc_peel_credentials_expired")).toBe(0);
  const leftDays =
    ((counted.get("svc_peel_credentials_soonest_expiry_timestamp_seconds") ?? 0) - systemClock.now() / 1000) /
    day;
  expect(leftDays).toBeGreaterThan(170);
  expect(leftDays).toBeLessThan(190);
  expect([...counted.keys()].some((name) => name.startsWith("svc_build_info{version="))).toBe(true);
});

test("requests by route and status, whatever was asked for", async () => {
  const before = await samples();
  for (const [method, path] of [
    ["GET", "/api/v1/enroll/enr-unknown/status"],
    ["GET", "/api/v1/enrollments"],
    ["BREW", "/coffee"],
    ["GET", "/pot-1"],
    ["GET", "/pot-2"],
  ] as const) {
    await call(master, { method, path });
  }
  const after = await samples();
  const grown = (labels: string) => {
    const name = `svc_http_request_seconds_count{${labels}}`;
    return (after.get(name) ?? 0) - (before.get(name) ?? 0);
  };
  expect(grown('method="GET",route="/api/v1/enroll/:id/status",status="404"')).toBe(1);
  expect(grown('method="GET",route="/api/v1/enrollments",status="401"')).toBe(1);
  expect(grown('method="GET",route="none",status="404"')).toBe(2);
  // A method that HTTP does not know is refused before it is a request.
  expect([...after.keys()].filter((name) => /BREW|coffee|pot-/.test(name))).toEqual([]);
});

test("each lease is held by one master, and the other one has none", async () => {
  await using other = await startMaster(bus);
  for (const lease of ["publisher", "facts-secrets"]) {
    await becomes(`svc_lease_held{lease="${lease}"}`, 1);
    expect((await samples(other)).get(`svc_lease_held{lease="${lease}"}`)).toBe(0);
  }
});

test("a bus that goes and comes back is seen, and that it came back is counted", async () => {
  const names = ["svc-master", "svc-master-system"];
  const before = await samples();
  for (const name of names) expect(before.get(`svc_bus_connected{connection="${name}"}`)).toBe(1);
  await bus.stop();
  for (const name of names) await becomes(`svc_bus_connected{connection="${name}"}`, 0);
  await bus.start();
  for (const name of names) {
    await becomes(`svc_bus_connected{connection="${name}"}`, 1);
    await becomes(`svc_bus_reconnects_total{connection="${name}"}`, 1);
  }
});
