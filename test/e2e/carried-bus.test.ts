import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileBinary } from "../../release/compile.ts";
import { natsServerPath } from "../harness/bus.ts";
import { logRecords } from "../harness/fleet.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// A build with an embedded nats-server needs no nats-server on its host.

const files = temporaryDirectory("carried");
const server = realpathSync(natsServerPath());
let host: SingleHost;

beforeAll(async () => {
  const master = join(files.path, "svc-master");
  await compileBinary("svc-master", master, { runtime: process.execPath, natsServer: server });
  host = await initSingleHost({ master, env: { PATH: "" } });
}, 60_000);
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

test("it unpacks what it carries, runs that, and puts a changed one right", async () => {
  const digest = createHash("sha256").update(readFileSync(server)).digest("hex").slice(0, 16);
  const path = join(host.dir, "bus/bin", `nats-server-${digest}`);
  {
    await using master = await host.startMaster();
    const started = logRecords(master).find(({ msg }) => msg === "bus started");
    expect(started).toMatchObject({ origin: "this executable", path });
    expect(realpathSync(`/proc/${started?.pid}/exe`)).toBe(path);
  }
  writeFileSync(path, "#!/bin/sh\nexit 1\n");
  await using master = await host.startMaster();
  expect(master.output()).toContain("Server is ready");
  expect(readFileSync(path).equals(readFileSync(server))).toBe(true);
  expect(readdirSync(join(host.dir, "bus/bin"))).toEqual([`nats-server-${digest}`]);
}, 60_000);
