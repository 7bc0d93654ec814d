import { afterAll, beforeAll, expect, test } from "bun:test";
import { startBus, type TestBus } from "../harness/bus.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";

// Two masters as processes, and the one a peel talks to is killed while it waits.

let bus: TestBus;
let masters: MasterDaemon[];
let peel: Daemon;

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMasterBinary(bus), await startMasterBinary(bus)];
  const urls = masters.map(({ url }) => url).join(",");
  peel = startPeelBinary(bus, masters[0]?.url ?? "", "web-1.example", { flags: ["--master-urls", urls] });
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("a peel whose master is killed while it waits finishes on the other, and one lost later does not matter", async () => {
  await peel.program.waitFor("waiting for an operator's approval");
  const [first, second] = masters;
  first?.program.kill("SIGKILL");
  await first?.program.exited;
  const [{ id }] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  expect((await svc(bus, "enroll", "approve", id)).code).toBe(0);
  await peel.program.waitFor("peel connected");
  expect(second?.program.output()).toContain("enrollment.credential.downloaded");
  const ran = await svc(bus, "run", "web-1.example", "test.ping");
  expect(ran.code).toBe(0);
});
