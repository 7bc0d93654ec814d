import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { usualLimits } from "../../internal/agent/watchdog/limits.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { binaries, type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { compileFaultyPeel, compilePeel, type Fault } from "../harness/peel-binary.ts";
import { type Program, startProgram } from "../harness/process.ts";

// Binaries are copied, uploaded and fetched; the slowest part is to wait for one that never becomes ready.
setDefaultTimeout(180_000);

const faults: readonly Fault[] = ["crash", "hang", "alone"];
const ids = ["one.example", "two.example"];
let bus: TestBus;
let master: MasterDaemon;
let watchdogs: Program[];

const binary = (name: string) => join(bus.dir, name);

/** Starts a peel under a watchdog with shorter timeouts than the real one. */
function startWatched(id: string, port: number): Program {
  const dir = join(bus.dir, id);
  makeDirectory(dir, 0o700);
  writeFileAtomic(join(dir, "peel.yaml"), "{}\n", secretMode);
  const args = [
    ...["--config", join(dir, "peel.yaml"), "--id", id, "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", master.url, "--enroll-ca", bus.caFile, "--health-addr", `127.0.0.1:${port}`],
  ];
  const given = {
    program: binaries.peel,
    args,
    dataDir: dir,
    health: { host: "127.0.0.1", port },
    limits: { ...usualLimits, pollMs: 100, firstPauseMs: 50, settleMs: 500, stopMs: 500 },
  };
  const main = join(import.meta.dir, "../harness/watchdog-main.ts");
  return startProgram([process.execPath, main, JSON.stringify(given)], {
    cwd: dir,
    env: { SVC_DATA_DIR: dir },
  });
}

beforeAll(async () => {
  bus = await startBus();
  const compiled = Promise.all([
    compilePeel("0.1.1", binary("good")),
    ...faults.map((fault) => compileFaultyPeel(fault, "6.6.6", binary(fault))),
  ]);
  master = await startMasterBinary(bus);
  const ports = await freePorts(ids.length);
  watchdogs = ids.map((id, i) => startWatched(id, ports[i] ?? 0));
  for (const watchdog of watchdogs) await watchdog.waitFor("waiting for an operator's approval");
  for (const { id } of JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout)) {
    expect(await svc(bus, "enroll", "approve", id)).toMatchObject({ code: 0 });
  }
  for (const watchdog of watchdogs) await watchdog.waitFor("peel connected");
  await compiled;
});
afterAll(async () => {
  for (const watchdog of watchdogs ?? []) await watchdog[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const upgrade = (name: string, ...more: string[]) =>
  svc(bus, "upgrade", "*", "--binary", binary(name), ...more);

/** The version each peel says that it has. */
async function versions(): Promise<Record<string, unknown>> {
  const { stdout } = await svc(bus, "run", "*", "test.version", "--output", "json");
  const { returns } = JSON.parse(stdout) as { returns: Record<string, { return: unknown }> };
  return Object.fromEntries(Object.entries(returns).map(([peel, value]) => [peel, value.return]));
}

test("what an upgrade would do is shown, and nothing is uploaded", async () => {
  const { code, stdout, stderr } = await upgrade("good", "--dry-run");
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining("2 peels in 2 waves, at most 0 may fail; nothing"),
  ]);
  expect(stdout).toMatch(/1\/2 +1 +one\.example.*\n2\/2 +1 +two\.example/);
});

test("a peel that reports no watchdog is named before the upgrade", async () => {
  const connection = await connectTo(bus, "master");
  const facts = await openBucket(connection, "facts");
  const { value } = (await facts.get("two_example")) ?? {};
  await facts.put("two_example", encode({ id: "two.example", svc_watchdog: false }));
  const { code, stderr } = await upgrade("good", "--dry-run");
  await facts.put("two_example", value ?? new Uint8Array());
  await connection.nats.close();
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining("svc: 1 peel without a watchdog would refuse: two.example; start them with"),
  ]);
  expect((await upgrade("good", "--dry-run")).stderr).not.toContain("watchdog");
});

test("both peels change over to another version, the canary first", async () => {
  const { code, stdout, stderr } = await upgrade("good");
  expect(stderr).toMatch(/svc-peel 0\.1\.1 for linux-.*\nuploaded \d+ of \d+ chunks\n/);
  expect(stderr).toMatch(
    /wave 1\/2: job-\S+ on 1 peel\n[\s\S]*wave 2\/2: job-\S+ on 1 peel\n[\s\S]*completed; 0 peels of 2 failed/,
  );
  expect(stdout).toMatch(/one\.example +ok +0\.1\.1 +0\.1\.0.*\ntwo\.example +ok +0\.1\.1 +0\.1\.0/);
  expect(code).toBe(0);
  expect(await versions()).toEqual({ one_example: "0.1.1", two_example: "0.1.1" });
});

test("a binary that runs already is nothing to do, and is not sent again", async () => {
  const { code, stdout, stderr } = await upgrade("good");
  expect(stderr).toContain("the masters have it already\n");
  expect(stdout).toMatch(/one\.example +ok +0\.1\.1 +0\.1\.1.*\ntwo\.example +ok +0\.1\.1 +0\.1\.1/);
  expect(code).toBe(0);
});

describe("a binary is rolled back by itself, and the rollout ends after the canary, when it", () => {
  test.each<[string, Fault, string]>([
    ["crashes", "crash", "it exited 3 times, the last time with code 7"],
    ["hangs", "hang", "it did not become ready in 5s: it does not respond"],
    ["cannot connect", "alone", "it did not become ready in 5s: bus: not connected"],
  ])("%s", async (_, fault, reason) => {
    const { code, stdout, stderr } = await upgrade(fault, "--ready-within", "5s");
    expect(stdout).toMatch(new RegExp(`one\\.example +rolled back +0\\.1\\.1 +0\\.1\\.1 +${reason}`));
    expect(stdout).toMatch(/2\/2 +1 +two\.example +- +-/);
    expect(stderr).toContain("1 peel of 2 failed");
    expect(code).toBe(1);
    expect(await versions()).toEqual({ one_example: "0.1.1", two_example: "0.1.1" });
    expect(watchdogs[1]?.output()).not.toContain("rolled back");
  });
});
