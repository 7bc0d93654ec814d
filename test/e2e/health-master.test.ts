import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import { nextSteps } from "../../internal/master/daemon/next-steps.ts";
import { runMaster } from "../../internal/master/daemon/run.ts";
import { loadMasterConfig } from "../../internal/program/config/mod.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { readinessBecomes } from "../harness/enrollee.ts";
import { freePorts } from "../harness/free-ports.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { observedLog } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// The checks of /readyz on a master, each brought down by what it watches (specification, "Master checks").

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface Readiness {
  status: string;
  checks: Record<string, { status: string; message: string; next?: string; latency_ms: number }>;
}

async function readiness(healthUrl = master.healthUrl): Promise<{ code: number } & Readiness> {
  const response = await fetch(`${healthUrl}/readyz`);
  return { code: response.status, ...((await response.json()) as Readiness) };
}

/** The names of the specification; `bus-servers`, `clock`, `decisions`, `enroll-policy`, `files`, `keys`, `operators`, `roles`, `settings`, `site-peels`, `sites`, `states` and `storage` are this product's own. */
const names = [
  ...["bus", "bus-servers", "ca", "clock", "decisions", "enroll-policy", "enroll-server"],
  ...[
    "files",
    "keys",
    "operators",
    "reactor",
    "roles",
    "sched-consumer",
    "settings",
    "site-peels",
    "sites",
    "states",
    "storage",
    "target-service",
  ],
];

test("a master that serves has every check, and all are up", async () => {
  await readinessBecomes(master.healthUrl, 200);
  // A moment later than the rest: it takes a lease first.
  await until(async () => (await readiness()).checks.reactor?.message === "ok");
  const { code, status, checks } = await readiness();
  expect([code, status, Object.keys(checks).sort()]).toEqual([200, "ok", names]);
  for (const [name, check] of Object.entries(checks)) {
    expect([name, check]).toEqual([
      name,
      { status: "up", message: expect.stringMatching(/./), latency_ms: expect.any(Number) },
    ]);
  }
  const health = await fetch(`${master.healthUrl}/healthz`);
  expect([health.status, await health.json()]).toMatchObject([200, { status: "ok", component: "master" }]);
});

test("every check says what to do about it, by itself or by the table", () => {
  const invocation = loadMasterConfig(["--bus-url", bus.url], {}, () => undefined);
  if (invocation.kind !== "run") throw new Error("the configuration does not run");
  const steps = nextSteps(invocation.values);
  // site-peels says it by itself; the others exist where their settings are, and start while a start waits.
  const own = ["site-peels"];
  expect(names.filter((name) => !own.includes(name) && steps[name] === undefined)).toEqual([]);
  expect(Object.keys(steps).filter((name) => !names.includes(name))).toEqual([
    "certificate",
    "gitfs",
    "start",
  ]);
  for (const step of Object.values(steps)) expect(step).not.toMatch(/\bthe logs?\b/);
});

test("key files that others can read are named, with the command that closes them", async () => {
  const seed = join(bus.authDir, "account.seed");
  chmodSync(seed, 0o644);
  try {
    const { code, checks } = await readiness();
    expect([code, checks.keys]).toEqual([
      200,
      {
        ...{ status: "degraded", message: `${bus.authDir}: group or others can access account.seed` },
        ...{ next: `chmod 600 ${seed}`, latency_ms: expect.any(Number) },
      },
    ]);
  } finally {
    chmodSync(seed, 0o600);
  }
  expect((await readiness()).checks.keys?.status).toBe("up");
});

test("a bus that no longer answers is down although the connection stands", async () => {
  const { pid } = bus.server();
  bus.server().kill("SIGSTOP");
  try {
    // A signal is sent before it is obeyed.
    await until(() => /\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
    const { code, checks } = await readiness();
    expect([code, checks.bus?.status, checks.bus?.message]).toEqual([503, "down", "timed out"]);
    expect(checks.bus?.next).toStartWith("start the bus at tls://");
    expect(checks["enroll-server"]?.status).toBe("up");
    expect(checks.bus?.latency_ms).toBeGreaterThanOrEqual(1_900);
    expect((await fetch(`${master.healthUrl}/healthz`)).status).toBe(200);
  } finally {
    bus.server().kill("SIGCONT");
  }
  await readinessBecomes(master.healthUrl, 200);
});

test("a bus that is away is down until it is back", async () => {
  await bus.stop();
  await readinessBecomes(master.healthUrl, 503);
  expect((await readiness()).checks.bus).toMatchObject({ status: "down", message: "not connected" });
  await bus.start();
  await readinessBecomes(master.healthUrl, 200);
});

test("the consumer of schedule results is down when it has gone", async () => {
  await using other = await startBus();
  await using watched = await startMaster(other);
  const admin = await connectTo(other, "master");
  const manager = await admin.nats.jetstreamManager();
  await manager.streams.delete("job-events");
  await admin.drain();
  await readinessBecomes(watched.healthUrl, 503);
  const { checks } = await readiness(watched.healthUrl);
  expect(checks["sched-consumer"]).toMatchObject({ status: "down", message: "not running" });
  expect(checks.bus?.status).toBe("up");
});

test("before the bus is reached a master is up and not ready", async () => {
  await using away = await startBus();
  await away.stop();
  const [port = 0] = await freePorts(1);
  const invocation = loadMasterConfig(
    [
      ...["--bus-url", away.url, "--bus-ca", away.caFile],
      ...["--auth-dir", away.authDir, "--enroll-addr", "127.0.0.1:0", "--health-addr", `127.0.0.1:${port}`],
    ],
    { SVC_DATA_DIR: away.dir },
    () => undefined,
  );
  if (invocation.kind !== "run") throw new Error("the configuration does not run");
  const log = observedLog();
  const stopping = new AbortController();
  const running = runMaster({
    config: invocation.values,
    env: {},
    hostname: "localhost",
    clock: systemClock,
    random: systemRandom,
    jitter: systemJitter,
    log,
    signal: stopping.signal,
  });
  await log.logged("bus not reachable");
  const healthUrl = `http://127.0.0.1:${port}`;
  expect((await fetch(`${healthUrl}/healthz`)).status).toBe(200);
  const { code, status, checks } = await readiness(healthUrl);
  expect([code, status]).toEqual([503, "down"]);
  const reported = Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, check.status]));
  expect(reported).toEqual({
    bus: "down",
    ca: "up",
    clock: "down",
    "enroll-server": "down",
    keys: "up",
    "sched-consumer": "down",
    storage: "down",
    "target-service": "down",
  });
  stopping.abort(new Error("the test is over"));
  await running.catch(() => {});
});

test("a master without an embedded CA has no check of it", async () => {
  const issued = join(bus.dir, "nats-server");
  const flags = [
    "--ca-mode",
    "external",
    "--enroll-tls-cert",
    `${issued}.crt`,
    "--enroll-tls-key",
    `${issued}.key`,
  ];
  await using external = await startMaster(bus, { flags });
  const { checks } = await readiness(external.healthUrl);
  expect(Object.keys(checks).sort()).toEqual(
    names.map((name) => (name === "ca" ? "certificate" : name)).sort(),
  );
});
