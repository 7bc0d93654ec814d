import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import {
  type Daemon,
  logRecords,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";

// Facts through the compiled binaries: from a file on the host to the operator's screen.

let bus: TestBus;
let connection: Bus;
let master: MasterDaemon;
let peel: Daemon;
const key = "web-1_example";

async function call(name: string, ...args: string[]): Promise<unknown> {
  const ran = await svc(bus, "run", "web-1.example", name, ...args, "--output", "json");
  const job = JSON.parse(ran.stdout);
  if (job.outcomes[key] !== "ok") throw new Error(job.returns[key]?.error ?? job.outcomes[key]);
  return job.returns[key].return;
}

function custom(name: string, text: string, mode: number): void {
  const directory = join(bus.dir, "web-1/facts.d");
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o755);
  writeFileSync(join(directory, name), text);
  chmodSync(join(directory, name), mode);
}

/** Resolves when what the bus keeps of the peel's facts looks so. */
async function stored(
  isExpected: (facts: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown>> {
  const bucket = await openBucket(connection, "facts");
  return new Promise((resolve) => {
    const watch = bucket.watch(({ key: changed, value }) => {
      if (changed !== key || value === undefined) return;
      const facts = decode(value) as Record<string, unknown>;
      if (!isExpected(facts)) return;
      watch.stop();
      resolve(facts);
    });
  });
}

beforeAll(async () => {
  bus = await startBus();
  connection = await connectTo(bus, "master");
  master = await startMasterBinary(bus);
  custom("role.yaml", "role: web\n", 0o644);
  custom("told", '#!/bin/sh\necho "told: {uid: $(id -u)}"\n', 0o755);
  custom("unsafe", "#!/bin/sh\necho 'unsafe: true'\n", 0o777);
  peel = startPeelBinary(bus, master.url, "web-1.example", { dir: join(bus.dir, "web-1") });
  await peel.program.waitFor("waiting for an operator's approval");
  const [{ id }] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", id);
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await connection?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

test("the bus has the facts of the peel, and its enrollment is active by them", async () => {
  const facts = await stored(() => true);
  expect(facts).toMatchObject({
    id: "web-1.example",
    role: "web",
    told: { uid: process.getuid?.() },
    kernel: "Linux",
    svc_version: expect.any(String),
    svc_watchdog: false,
  });
  expect(facts).not.toHaveProperty("unsafe");
  const refused = logRecords(peel.program).filter(({ msg }) => msg === "fact not collected");
  expect(refused.map(({ reason }) => reason)).toContainEqual(expect.stringContaining("has mode 0777"));
  await master.program.waitFor("enrollment active");
  expect(await call("grains.get", "told:uid")).toBe(process.getuid?.() ?? 0);
});

test("a fact that is set reaches the bus, targets by it, and survives a restart", async () => {
  expect(await call("facts.set", "role", "{name: db, tier: 2}")).toEqual({ name: "db", tier: 2 });
  await stored((facts) => (facts.role as { name?: string }).name === "db");
  peel.program.kill("SIGKILL");
  await peel.program.exited;
  peel = startPeelBinary(bus, master.url, "web-1.example", { dir: peel.dir });
  await peel.program.waitFor("peel connected");
  expect(await call("facts.get", "role:tier")).toBe(2);
  const ran = await svc(bus, "run", "G@role:name:db", "facts.get", "role:name", "--output", "json");
  expect(JSON.parse(ran.stdout).outcomes).toEqual({ [key]: "ok" });
  await expect(call("facts.set", "id", "other")).rejects.toThrow("the fact id cannot be set");
});

test("a refresh finds what changed on the host", async () => {
  expect(await call("facts.set", "role", "null")).toBe("web");
  custom("role.yaml", "role: cache\n", 0o644);
  expect(await call("facts.refresh")).toBe(true);
  expect(await call("facts.get", "role")).toBe("cache");
  await stored((facts) => facts.role === "cache");
  expect(await call("facts.refresh")).toBe(false);
  expect(await call("facts.get", "missing", "fallback")).toBe("fallback");
  expect(await call("grains.ls")).toContain("os_family");
});
