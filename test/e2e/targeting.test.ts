import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../../internal/base/files/file.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { insertEnrollment } from "../../internal/fleet/enrollment/store/store.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { vouchersOf } from "../harness/vouchers.ts";

// What an operator can learn about targets from a running master.

let bus: TestBus;
let master: TestMaster;
let stored: Bus;
let operator: Bus;
let settings: string;
beforeAll(async () => {
  bus = await startBus();
  settings = join(bus.dir, "settings");
  makeDirectory(settings, 0o700);
  writeFileSync(join(settings, "nodegroups.yaml"), "front: web-* and G@os:Debian\n");
  master = await startMaster(bus, { flags: ["--settings-dir", settings] });
  stored = await connectTo(bus, "master");
  operator = await connectTo(bus, "admin");
});
afterAll(async () => {
  await Promise.all([operator.drain(), stored.drain()]);
  await master[Symbol.asyncDispose]();
  await bus[Symbol.asyncDispose]();
});

async function resolve(target: string) {
  const request = encode({ target, operator: "tester" });
  const { data } = await operator.nats.request("svc.target.resolve", request, { timeout: 30_000 });
  return decode(data);
}

test("a running master tells whom a target means, by facts, liveness and its node groups", async () => {
  const enrollments = { ...(await openBucket(stored, "enrollments")), vouchers: vouchersOf(bus) };
  const facts = await openBucket(stored, "facts");
  const heartbeats = await openBucket(stored, "peel-heartbeat");
  for (const [at, peelId] of ["web-1", "web-2_example", "db-1"].entries()) {
    const id = `enr-${`${at}`.padStart(27, "0")}`;
    const keys = { publicKey: "U", curvePublicKey: "X" };
    const times = { createdAt: 1_000, updatedAt: 1_000 };
    await insertEnrollment(enrollments, { id, peelId, ...keys, ...times, state: "active" }, undefined);
  }
  await facts.put("web-1", encode({ os: "Debian" }));
  await facts.put("web-2_example", encode({ os: "Ubuntu" }));
  await facts.put("db-1", encode({ os: "Debian" }));

  const peel = (peel_id: string, alive = false) => ({ peel_id, alive });
  expect(await resolve("web-2.example or db-*")).toEqual({
    ok: true,
    total: 2,
    targets: [peel("db-1"), peel("web-2_example")],
  });
  expect(await resolve("N@front")).toMatchObject({ targets: [peel("web-1")] });
  writeFileSync(join(settings, "nodegroups.yaml"), "front: web-* # of any system\n");
  expect(await resolve("N@front")).toMatchObject({ targets: [peel("web-1"), peel("web-2_example")] });
  expect(await resolve("N@fron")).toEqual({
    ok: false,
    error: {
      code: "bad_request",
      message: "target: column 1: unknown node group fron (did you mean front?)",
    },
  });

  await heartbeats.put("db-1", encode({}));
  expect(await resolve("db-1")).toMatchObject({ targets: [peel("db-1", true)] });
});

test("the readiness of a master names its target service", async () => {
  const response = await fetch(`${master.healthUrl}/readyz`);
  expect(await response.json()).toMatchObject({ checks: { "target-service": { status: "up" } } });
});
