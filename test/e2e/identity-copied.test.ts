import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startBus, type TestBus } from "../harness/bus.ts";
import { copyIdentity, enrollmentOf, renewalsOf } from "../harness/copied-identity.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";

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

const copied = (peelId: string) => copyIdentity(bus, master, peelId);
const shown = (peelId: string) => enrollmentOf(bus, peelId);

/** Starts one of the two hosts; it is connected when this resolves. */
async function start(peelId: string, dir: string): Promise<Daemon> {
  const peel = stack.use(startPeelBinary(bus, master.url, peelId, { dir }));
  await peel.program.waitFor("peel connected");
  return peel;
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
    expect(await renewalsOf(bus, peelId)).toBe(1);

    await renew(peelId, "--async");
    await master.program.waitFor(new RegExp(`"enrollment.clone.suspected".*${(await shown(peelId)).id}`));
    await ahead.program.waitFor(/("credentials renewed"[\s\S]*){2}/);
    expect(behind.program.output()).not.toContain('"credentials renewed"');
    const marked = await shown(peelId);
    expect(marked).toMatchObject({ state: "active", trust: expect.stringContaining("CLONE!") });
    expect(await renewalsOf(bus, peelId)).toBe(2);
    await behind[Symbol.asyncDispose]();

    expect(await svc(bus, "enroll", "clear-clone", marked.id)).toMatchObject({ code: 0 });
    expect((await shown(peelId)).trust).not.toContain("CLONE!");
    expect(await renew(peelId)).toMatchObject({ code: 0 });
    expect((await shown(peelId)).trust).not.toContain("CLONE!");
  });
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
