import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress } from "../harness/client.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { startRelay } from "../harness/relay.ts";
import { until } from "../harness/until.ts";

// An image of the disk of an enrolled peel starts as two more hosts. Each host has a machine-id of its own, in a mount
// namespace, and runs the compiled peel.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: MasterDaemon;
let stack: AsyncDisposableStack;

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  bus = stack.use(await startBus());
  master = stack.use(await startMasterBinary(bus));
});
afterAll(async () => {
  await stack?.[Symbol.asyncDispose]();
});

const idOf = (peel: string) => `${peel}.example`;

/** Starts a host with this machine-id. */
async function start(peelId: string, dir: string | undefined, machineId: string): Promise<Daemon> {
  const file = join(bus.dir, `machine-id-${machineId.slice(0, 4)}`);
  writeFileSync(file, `${machineId}\n`);
  const script = 'mount --bind "$0" /etc/machine-id && exec "$@"';
  const within = ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, file];
  // Masters limit the enrollments of one address.
  const relay = stack.use(await startRelay(Number(new URL(master.url).port), freshAddress()));
  const options = { within, ...(dir === undefined ? {} : { dir }) };
  return stack.use(startPeelBinary(bus, `https://localhost:${relay.port}`, peelId, options));
}

interface Shown {
  id: string;
  state: string;
  peel_id: string;
  fingerprint: string;
}

async function shown(state: string): Promise<Shown[]> {
  return JSON.parse((await svc(bus, "enroll", "list", "--state", state, "--output", "json")).stdout);
}

/** Waits until a host asks, lets it in, and waits until it is connected. */
async function admit({ program }: Daemon): Promise<Shown> {
  await program.waitFor("enrollment pending");
  const [one, ...others] = await shown("pending");
  expect(others).toEqual([]);
  if (one === undefined) throw new Error("nobody asks");
  expect((await svc(bus, "enroll", "approve", one.id)).code).toBe(0);
  await program.waitFor("peel connected");
  return one;
}

const machine = (digit: string) => digit.repeat(32);
const copyOf = (dir: string, name: string) => {
  const copy = join(bus.dir, name);
  cpSync(dir, copy, { recursive: true });
  return copy;
};
const copied = "this host is a copy of another peel";

test("copies of a disk ask with keys of their own, and the first host stays a member", async () => {
  const peelId = idOf("golden");
  const golden = await start(peelId, undefined, machine("a"));
  const first = await admit(golden);
  await golden[Symbol.asyncDispose]();
  const seed = readFileSync(join(golden.dir, "auth", "golden_example.seed"), "utf8");

  const copies = [copyOf(golden.dir, "copy-1"), copyOf(golden.dir, "copy-2")] as const;
  const again = await start(peelId, golden.dir, machine("a"));
  await again.program.waitFor("peel connected");
  for (const [at, dir] of copies.entries()) {
    const copy = await start(peelId, dir, machine(String(at + 1)));
    expect(await copy.program.exited).not.toBe(0);
    expect(copy.program.output()).toContain(copied);
    expect(copy.program.output()).toContain(`svc enroll revoke ${first.id}, or gives this host another id`);
    expect(copy.program.output()).toContain("is already enrolled");
    expect(copy.program.output()).not.toContain("peel connected");
  }
  const seeds = copies.map((dir) => readFileSync(join(dir, "auth", "golden_example.seed"), "utf8"));
  expect(new Set([seed, ...seeds]).size).toBe(3);
  expect(again.program.output()).not.toContain(copied);

  // What a master lists follows what it stores.
  const copiedNow = async () => JSON.parse((await svc(bus, "status", "--output", "json")).stdout).copied;
  expect(await until(copiedNow, (found) => found.length > 0)).toEqual([
    expect.objectContaining({ id: first.id, peel_id: "golden_example" }),
  ]);
  const { stdout: events } = await svc(bus, "events", "--output", "jsonl");
  expect(events.match(/svc\/peel\/copied/g)).toHaveLength(1);
  const { stdout: doctor } = await svc(bus, "doctor", peelId);
  expect(doctor).toMatch(/warn +clone +a copy of its host asked to join/);

  // One gets another id, and the first host is still there.
  const named = await start(idOf("second"), copies[1], machine("2"));
  const second = await admit(named);
  expect(second).toMatchObject({ peel_id: "second_example" });
  const still = (await shown("all")).find(({ id }) => id === first.id);
  expect(["issued", "active"]).toContain(still?.state ?? "");

  // The other one takes the place of the first host, when an operator says so.
  expect((await svc(bus, "enroll", "revoke", first.id)).code).toBe(0);
  const heir = await start(peelId, copies[0], machine("1"));
  const third = await admit(heir);
  expect(heir.program.output()).not.toContain(copied);
  expect(new Set([first, second, third].map(({ fingerprint }) => fingerprint)).size).toBe(3);
});

test("a state without a record of its host is recorded, whatever machine it is on", async () => {
  const peelId = idOf("earlier");
  const peel = await start(peelId, undefined, machine("b"));
  await admit(peel);
  await peel[Symbol.asyncDispose]();
  const instance = join(peel.dir, "auth", "instance");
  expect(JSON.parse(readFileSync(instance, "utf8"))).toMatchObject({ machine_id: machine("b") });
  unlinkSync(instance);
  const upgraded = await start(peelId, peel.dir, machine("c"));
  await upgraded.program.waitFor("peel connected");
  expect(JSON.parse(readFileSync(instance, "utf8"))).toMatchObject({ machine_id: machine("c") });
});
