import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { observedLog } from "../../../test/harness/peel-connection.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { identityOf } from "../../base/process/process-stat.ts";
import { startBusServer } from "./supervise.ts";

const files = temporaryDirectory("supervise");
afterAll(() => files[Symbol.dispose]());
let count = 0;

/** A bus that is a shell script; it gets its own directory. */
function prepare(script: string) {
  const dir = join(files.path, `bus-${++count}`);
  mkdirSync(dir);
  const program = join(dir, "nats-server");
  writeFileSync(
    program,
    `#!/bin/sh\nif [ "$1" = --version ]; then echo nats-server: v2.10.0; exit; fi\n${script}\n`,
  );
  chmodSync(program, 0o755);
  writeFileSync(join(dir, "nats-server.conf"), 'server_name: "test"\n');
  Bun.spawnSync(["mkfifo", join(dir, "fifo")]);
  const clock = manualClock();
  const log = observedLog();
  const stopping = new AbortController();
  let restarts = 0;
  const disk = { free: 1_000_000_000, total: 2_000_000_000, files: { free: 1_000, total: 2_000 } };
  const start = () =>
    startBusServer({
      dir,
      program,
      carried: undefined,
      searchPath: "",
      onRestart: () => restarts++,
      roomOn: async () => ({ ...disk }),
      clock,
      log,
      signal: stopping.signal,
    });
  const all = (event: string) => log.records.filter((record) => record.event === event);
  /** Resolves when there are that many records of an event. */
  const logged = (event: string, times = 1) => log.logged(event, () => all(event).length >= times);
  return { dir, disk, clock, log, logged, stopping, start, all, restarts: () => restarts };
}

const serves = "echo '[1] [INF] Server is ready' >&2; exec 3<>fifo; while :; do read -r line <&3; done";

test("it is started again after pauses that grow, and shrink when it ran well", async () => {
  const { dir, clock, logged, start, all, restarts } = prepare(serves);
  const server = await start();
  expect(server.restarts()).toBeUndefined();
  const next = async () => {
    const [starts, ends] = [all("bus started").length, all("bus ended").length];
    process.kill(Number(all("bus started").at(-1)?.fields.pid), "SIGKILL");
    await logged("bus ended", ends + 1);
    const pauseMs = Number(all("bus ended").at(-1)?.fields.restart_in_ms);
    clock.advance(pauseMs);
    await logged("bus started", starts + 1);
    return pauseMs;
  };
  const pauses: number[] = [];
  for (let i = 0; i < 8; i++) pauses.push(await next());
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  clock.advance(60_001);
  expect([await next(), await next()]).toEqual([500, 1000]);
  expect(restarts()).toBe(10);
  expect(server.restarts()).toEqual({ count: 10, at: clock.now() });
  expect(all("bus ended").map(({ level, fields }) => [level, fields.signal])).toContainEqual([
    "error",
    "SIGKILL",
  ]);

  const last = Number(all("bus started").at(-1)?.fields.pid);
  await server.stop();
  expect(identityOf(last)).toBeUndefined();
  expect(existsSync(join(dir, "nats-server.process"))).toBe(false);
  expect(all("bus ended")).toHaveLength(10);
});

test("while it cannot be started it is tried again", async () => {
  const { dir, clock, logged, start, all } = prepare(serves);
  const server = await start();
  chmodSync(join(dir, "nats-server"), 0o644);
  process.kill(Number(all("bus started")[0]?.fields.pid), "SIGKILL");
  await logged("bus ended");
  clock.advance(500);
  await logged("bus not started");
  chmodSync(join(dir, "nats-server"), 0o755);
  clock.advance(30_000);
  await logged("bus started", 2);
  await server.stop();
});

test("stopping it while it waits to be started again takes no time", async () => {
  const { logged, start, all } = prepare(serves);
  const server = await start();
  process.kill(Number(all("bus started")[0]?.fields.pid), "SIGKILL");
  await logged("bus ended");
  await server.stop();
  expect(all("bus started")).toHaveLength(1);
});

test("a server that does not start the first time is reported with its own message", async () => {
  const { dir, start } = prepare("echo 'nats-server: a.conf:3:1: unknown field' >&2; exit 1");
  await expect(start()).rejects.toThrow("the bus does not start: a.conf:3:1: unknown field");
  expect(existsSync(join(dir, "nats-server.process"))).toBe(false);
});

test("a directory without a configuration is reported", async () => {
  const { dir, start } = prepare(serves);
  Bun.spawnSync(["mv", join(dir, "nats-server.conf"), join(dir, "other.conf")]);
  await expect(start()).rejects.toThrow(`${dir}/nats-server.conf: no such file: create it with svc init`);
});

test("a signal while it starts ends it", async () => {
  const { start, stopping, all, logged } = prepare("exec 3<>fifo; while :; do read -r line <&3; done");
  const starting = start();
  await logged("bus started");
  stopping.abort(new Error("stopped"));
  await expect(starting).rejects.toThrow("stopped");
  expect(identityOf(Number(all("bus started")[0]?.fields.pid))).toBeUndefined();
});

test.each([
  ["a server that ran out of room is started again", "write x: no space left on device", 1],
  ["a server that did not notice runs on", "all is well", 0],
])("once a full disk has room again, %s", async (_, said, restarts) => {
  const script = `echo '[1] [ERR] ${said}' >&2; ${serves}`;
  const { disk, clock, log, logged, start, ...prepared } = prepare(script);
  const server = await start();
  await log.logged(said);
  expect(server.diskProblem()).toBeUndefined();
  disk.free = 5_000;
  clock.advance(2_000);
  const { fields } = await log.logged("the disk of the bus is full");
  expect(server.diskProblem()).toEqual({
    message: `the disk of ${fields.directory} is full: 4 KiB of 1907 MiB are free`,
    next: `make room on the disk of ${fields.directory}: the bus continues by itself`,
  });
  // Less than it must have again.
  disk.free = 6_000_000;
  clock.advance(2_000);
  disk.free = 1_000_000_000;
  clock.advance(2_000);
  await log.logged("the disk of the bus has room again");
  expect(server.diskProblem()).toBeUndefined();
  if (restarts > 0) {
    await logged("bus ended");
    clock.advance(30_000);
    await logged("bus started", 2);
  }
  expect(prepared.restarts()).toBe(restarts);
  await server.stop();
});

test("a disk without inodes is full, whatever room it has", async () => {
  const { disk, clock, log, start } = prepare(serves);
  const server = await start();
  disk.files = { free: 63, total: 2_000 };
  clock.advance(2_000);
  const { fields } = await log.logged("the disk of the bus is full");
  expect(server.diskProblem()).toEqual({
    message: `the disk of ${fields.directory} is full: 63 of 2000 inodes are free`,
    next: `remove files from the disk of ${fields.directory}, of which it holds too many: the bus continues by itself`,
  });
  expect(fields.free_files).toBe(63);
  disk.files = { free: 128, total: 2_000 };
  clock.advance(2_000);
  await log.logged("the disk of the bus has room again");
  expect(server.diskProblem()).toBeUndefined();
  await server.stop();
});

test("its lines are in the log under its name", async () => {
  const { start, log } = prepare(`echo '[1] [WRN] Careful' >&2; ${serves}`);
  const server = await start();
  expect(log.records).toContainEqual({ level: "warn", event: "Careful", fields: { component: "bus" } });
  await server.stop();
});
