import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { spkiPin, splitPem } from "../../internal/identity/trust/pin.ts";
import { standUpTwoMasters, type TwoMasters, until } from "./two-masters.ts";

// A fleet with two masters on two hosts replaces its root: one of them is stopped while the rotation starts, the
// other one while it is activated. Each finds the phase when it comes back, and no peel loses its connection.

setDefaultTimeout(120_000);

const members = ["web-a", "web-b"];
let fleet: TwoMasters;
let oldPin: string;
let newPin: string;

const ca = (at: 0 | 1) => join(fleet.auth[at], "ca");
const rotate = (...args: string[]) => fleet.svc("ca", "rotate", ...args, "--dir", ca(0), "--output", "json");
const status = async () => JSON.parse((await rotate("status")).stdout);
const pinsIn = (path: string) => splitPem(readFileSync(path, "utf8")).map(spkiPin);
const anchorsOf = async () =>
  members.map((id) => pinsIn(join(fleet.dataDir(id), "auth", "enroll-ca.crt")).join());
const phases = ({ masters = [] }: { masters?: { phase: string }[] }) =>
  masters.map(({ phase }) => phase).join();

/** Copies next/ to the other host, as an operator does: without the key of its root. */
function copyNext(): void {
  const to = join(ca(1), "next");
  mkdirSync(to, { recursive: true, mode: 0o700 });
  const isRootKey = (path: string) => path.endsWith("root.key");
  cpSync(join(ca(0), "next"), to, { recursive: true, filter: (path) => !isRootKey(path) });
}

/** Issues the certificate of the bus, which no master runs here, and lets the server read it. */
async function renewBus(): Promise<void> {
  const issued = await fleet.svc(
    ...["ca", "issue", "nats-server", "--dir", ca(0), "--dns", "localhost", "--ip", "127.0.0.1"],
    ...["--out", fleet.bus.dir, "--force"],
  );
  expect(issued).toMatchObject({ code: 0 });
  const server = fleet.bus.server();
  server.kill("SIGHUP");
  await server.waitFor("Reloaded server configuration");
}

beforeAll(async () => {
  fleet = await standUpTwoMasters();
  for (const id of members) await fleet.admit(id);
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

test("start while the second master is stopped: peels learn both roots from the first", async () => {
  await fleet.stopMaster(1);
  const started = await rotate("start");
  expect(started).toMatchObject({ code: 0 });
  ({ current: oldPin, next: newPin } = JSON.parse(started.stdout));
  await until(status, ({ lacking }) => lacking?.length === 0);
  expect(await anchorsOf()).toEqual([`${oldPin},${newPin}`, `${oldPin},${newPin}`]);
});

test("the second master comes back without next/: activate names it, and no peel forgets the next root", async () => {
  await fleet.startMaster(1);
  // A master tells its phase with its next heartbeat.
  const shown = await until(status, (answer) => phases(answer).split(",").toSorted().join() === "none,start");
  const late = shown.masters.find(({ phase }: { phase: string }) => phase === "none");
  const refused = await rotate("activate");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`1 running master did not notice the next root yet: ${late.name}`);
  await fleet.ping(...members);
  expect((await status()).peels).toMatchObject({ both: members.length });
  copyNext();
  await until(status, (answer) => phases(answer) === "start,start");
});

test("activate while the first master is stopped: the second one issues from the next authority", async () => {
  await fleet.stopMaster(0);
  expect(await rotate("activate")).toMatchObject({ code: 0 });
  copyNext();
  await until(status, (answer) => phases(answer) === "activate");
  await renewBus();
  await fleet.ping(...members);
  await fleet.startMaster(0);
  await until(status, (answer) => phases(answer) === "activate,activate");
  await fleet.ping(...members);
});

test("finish: both masters and all peels have the next root only, and nobody was disconnected", async () => {
  expect(await rotate("finish")).toMatchObject({ code: 0 });
  cpSync(ca(0), ca(1), { recursive: true, filter: (path) => !path.endsWith("root.key") });
  rmSync(join(ca(1), "next"), { recursive: true });
  await until(anchorsOf, (found) => found.every((pins) => pins === newPin));
  for (const id of members) {
    expect(pinsIn(join(fleet.dataDir(id), "auth", "bus-ca.crt"))).toEqual([newPin]);
    expect(fleet.peel(id).output()).not.toContain('"msg":"bus disconnected"');
  }
  await fleet.ping(...members);
  // Either master alone serves a peel that starts again.
  for (const at of [0, 1] as const) {
    await fleet.stopMaster(at);
    const peel = await fleet.startPeel("web-a");
    await peel.waitFor("peel connected");
    await fleet.ping(...members);
    await fleet.startMaster(at);
  }
  expect(await rotate("status")).toMatchObject({ code: 0 });
  expect(await status()).toMatchObject({ phase: "none", current: newPin });
});
