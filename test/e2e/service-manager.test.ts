import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { binaries, logRecords, startMasterBinary, startPeelBinary } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { type Program, startProgram } from "../harness/process.ts";

// What systemd is told by a unit with Type=notify.

setDefaultTimeout(60_000);
let bus: TestBus;

beforeAll(async () => {
  bus = await startBus();
});
afterAll(() => bus?.[Symbol.asyncDispose]());

const main = join(import.meta.dir, "../harness/service-manager-main.ts");

/** Starts what stands in for systemd. */
async function startManager(address: string): Promise<Program> {
  const manager = startProgram([process.execPath, main, address]);
  await manager.waitFor("listening");
  return manager;
}

/** What it was told. */
function reported(manager: Program): string[] {
  return [...manager.output().matchAll(/^told (.*)$/gm)].map(([, text = ""]) => JSON.parse(text) as string);
}

test("a master says when it is ready, and when it stops", async () => {
  await using manager = await startManager(join(bus.dir, "notify-master"));
  const env = { NOTIFY_SOCKET: join(bus.dir, "notify-master") };
  await using master = await startMasterBinary(bus, [], env);
  await manager.waitFor("READY=1");
  const { port } = new URL(master.url);
  const { port: healthPort } = new URL(master.healthUrl);
  expect(reported(manager)).toEqual([
    "STATUS=waiting for the bus",
    `READY=1\nSTATUS=ready; listens on port ${port}, health on port ${healthPort}`,
  ]);
  master.program.kill();
  await manager.waitFor("STOPPING=1");
  expect(await master.program.exited).toBe(0);
});

test("a master that waits for its bus is not ready", async () => {
  const address = `@svc-test-waiting-${process.pid}`;
  await using manager = await startManager(address);
  const [nobody = 0] = await freePorts(1);
  const dir = join(bus.dir, "waiting");
  makeDirectory(dir, 0o700);
  writeFileAtomic(join(dir, "master.yaml"), "{}\n", secretMode);
  await using master = startProgram(
    [
      ...[binaries.master, "--config", join(dir, "master.yaml"), "--bus-url", `tls://127.0.0.1:${nobody}`],
      ...["--bus-ca", bus.caFile, "--auth-dir", bus.authDir, "--health-addr", "127.0.0.1:0"],
    ],
    { env: { NOTIFY_SOCKET: address } },
  );
  await manager.waitFor("STATUS=waiting for the bus");
  master.kill();
  await manager.waitFor("STOPPING=1");
  expect(manager.output()).not.toContain("READY=1");
});

test("a peel is ready before it has a bus", async () => {
  await using manager = await startManager(join(bus.dir, "notify-peel"));
  await using peel = startPeelBinary(bus, "https://127.0.0.1:1", "web-1", {
    env: { NOTIFY_SOCKET: join(bus.dir, "notify-peel") },
  });
  await manager.waitFor("READY=1");
  await peel.program.waitFor("peel started");
  const started = logRecords(peel.program).find(({ msg }) => msg === "peel started");
  expect(reported(manager)).toEqual([
    `READY=1\nSTATUS=started as web-1; health on port ${started?.health_port}`,
  ]);
});

test("a watchdog speaks for its peel, which is not told of the service manager", async () => {
  const address = join(bus.dir, "notify-watchdog");
  await using manager = await startManager(address);
  const [port = 0] = await freePorts(1);
  const dir = join(bus.dir, "watched");
  makeDirectory(dir, 0o700);
  writeFileAtomic(join(dir, "peel.yaml"), "{}\n", secretMode);
  await using watchdog = startProgram(
    [
      ...[binaries.peel, "watchdog", "--config", join(dir, "peel.yaml"), "--id", "web-2"],
      ...["--bus-url", bus.url, "--bus-ca", bus.caFile, "--master-url", "https://127.0.0.1:1"],
      ...["--enroll-ca", bus.caFile, "--health-addr", `127.0.0.1:${port}`],
    ],
    { env: { SVC_DATA_DIR: dir, NOTIFY_SOCKET: address } },
  );
  await manager.waitFor("READY=1");
  const pid = logRecords(watchdog).find(({ msg }) => msg === "peel started by the watchdog")?.pid;
  expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain("NOTIFY_SOCKET");
  watchdog.kill();
  await manager.waitFor("STOPPING=1");
  expect(reported(manager)).toEqual([
    `READY=1\nSTATUS=the peel runs; health on port ${port}`,
    "STOPPING=1\nSTATUS=stopping",
  ]);
});
