import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { openBucket } from "../../internal/bus/storage/mod.ts";
import { readHeartbeat } from "../../internal/wire/heartbeat.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress } from "../harness/client.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { startMember } from "../harness/jobs.ts";
import { startRelay } from "../harness/relay.ts";
import { until } from "../harness/until.ts";

// The data directory of a peel is copied to a second host, and both hosts run the compiled peel.

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

interface Shown {
  id: string;
  state: string;
  trust: string;
}

async function shown(peelId: string): Promise<Shown> {
  const { stdout } = await svc(bus, "enroll", "list", "--state", "all", "--output", "json");
  const list = JSON.parse(stdout) as (Shown & { peel_id: string })[];
  const found = list.find(({ peel_id }) => peel_id === peelId.replaceAll(".", "_"));
  if (found === undefined) throw new Error(`no enrollment of ${peelId}`);
  return found;
}

async function renewalsOf(peelId: string): Promise<number> {
  const { id } = await shown(peelId);
  const { stdout } = await svc(bus, "enroll", "show", id, "--output", "json");
  return JSON.parse(stdout).renewals ?? 0;
}

/** Enrolls a peel, and copies its identity. Neither of the two runs afterwards. */
async function copied(peelId: string): Promise<{ original: string; copy: string }> {
  // Masters limit the enrollments of one address.
  await using relay = await startRelay(Number(new URL(master.url).port), freshAddress());
  const peel = await startMember(bus, { ...master, url: `https://localhost:${relay.port}` }, peelId);
  await peel[Symbol.asyncDispose]();
  const copy = join(bus.dir, `copy-of-${peelId}`);
  cpSync(join(peel.dir, "auth"), join(copy, "auth"), { recursive: true });
  return { original: peel.dir, copy };
}

/** Starts one of the two hosts; it is connected when this resolves. */
async function start(peelId: string, dir: string): Promise<Daemon> {
  const peel = stack.use(startPeelBinary(bus, master.url, peelId, { dir }));
  await peel.program.waitFor("peel connected");
  return peel;
}

/** Resolves when the last heartbeat of a peel is by another process than this one. @returns that process */
async function heartbeatOf(peelId: string, other?: string): Promise<string> {
  const fleet = await connectTo(bus, "master");
  const beats = await openBucket(fleet, "peel-heartbeat");
  const read = async () => {
    const { value } = (await beats.get(peelId.replaceAll(".", "_"))) ?? {};
    const id = value && readHeartbeat(value)?.instance?.id;
    return id && Buffer.from(id).toString("hex");
  };
  const found = await until(read, (id) => id !== undefined && id !== other);
  await fleet.drain();
  return String(found);
}

/** Sends the request to renew, which reaches every host with this ID. */
const renew = (peelId: string, ...more: string[]) =>
  svc(bus, "run", peelId, "identity.renew", "--timeout", "20s", ...more);

/** Lets one host renew alone. The other then starts with credentials that are not the current ones. */
async function overtake(peelId: string, first: string, second: string) {
  const ahead = await start(peelId, first);
  expect(await renew(peelId)).toMatchObject({ code: 0 });
  const behind = await start(peelId, second);
  return { ahead, behind };
}

describe.each([
  { order: "the copy renews first", peelId: "web-1.example", isCopyFirst: true },
  { order: "the original renews first", peelId: "web-2.example", isCopyFirst: false },
])("$order", ({ peelId, isCopyFirst }) => {
  test("the other host is refused and marks the record; the first host renews again", async () => {
    const { original, copy } = await copied(peelId);
    const [first, second] = isCopyFirst ? [copy, original] : [original, copy];
    const { ahead, behind } = await overtake(peelId, first, second);
    expect(await renewalsOf(peelId)).toBe(1);

    await renew(peelId, "--async");
    await master.program.waitFor(new RegExp(`"enrollment.clone.suspected".*${(await shown(peelId)).id}`));
    await ahead.program.waitFor(/("credentials renewed"[\s\S]*){2}/);
    expect(behind.program.output()).not.toContain('"credentials renewed"');
    const marked = await shown(peelId);
    expect(marked).toMatchObject({ state: "active", trust: expect.stringContaining("CLONE!") });
    expect(await renewalsOf(peelId)).toBe(2);
    await behind[Symbol.asyncDispose]();

    expect(await svc(bus, "enroll", "clear-clone", marked.id)).toMatchObject({ code: 0 });
    expect((await shown(peelId)).trust).not.toContain("CLONE!");
    expect(await renew(peelId)).toMatchObject({ code: 0 });
    expect((await shown(peelId)).trust).not.toContain("CLONE!");
  });
});

describe("without a renewal", () => {
  test("copies are found that run together or in turns; a restart and a change of the connection are not copies", async () => {
    const [together, inTurns, alone] = ["web-4.example", "web-5.example", "web-6.example"];
    const [first, second, third] = [await copied(together), await copied(inTurns), await copied(alone)];
    const port = Number(new URL(bus.url).port);
    const relay = stack.use(await startRelay(port));
    const through: TestBus = Object.create(bus, { url: { value: `tls://localhost:${relay.port}` } });
    const away = stack.use(startPeelBinary(through, master.url, inTurns, { dir: second.original }));
    await away.program.waitFor("peel connected");
    const process = await heartbeatOf(inTurns);
    const before = await start(alone, third.original);
    await start(together, first.original);
    await start(together, first.copy);

    // Cut off from the bus, its process runs on. Its copy runs meanwhile, and ends.
    relay.cut();
    const meanwhile = await start(inTurns, second.copy);
    await heartbeatOf(inTurns, process);
    await meanwhile[Symbol.asyncDispose]();
    relay.mend();
    await before[Symbol.asyncDispose]();
    const after = await start(alone, third.original);
    expect(await renew(alone)).toMatchObject({ code: 0 });
    await after.program.waitFor("bus connection moved");

    for (const peelId of [together, inTurns]) {
      const { id } = await shown(peelId);
      await master.program.waitFor(new RegExp(`"enrollment.clone.suspected".*${id}`), 150_000);
      expect((await shown(peelId)).trust).toContain("CLONE!");
      expect(await renewalsOf(peelId)).toBe(0);
    }
    expect((await shown(alone)).trust).not.toContain("CLONE!");
  }, 240_000);
});

test("with on_clone: revoke, the enrollment ends, and with it both hosts", async () => {
  const peelId = "web-3.example";
  const { original, copy } = await copied(peelId);
  await master[Symbol.asyncDispose]();
  master = stack.use(await startMasterBinary(bus, ["--enroll-on-clone", "revoke"]));
  const { ahead, behind } = await overtake(peelId, copy, original);
  await renew(peelId, "--async");
  await Promise.all([ahead, behind].map(({ program }) => program.waitFor(/revoked/)));
  expect(await shown(peelId)).toMatchObject({ state: "revoked" });
});
