import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { encodePeelId } from "../../internal/base/names/peel-id.ts";
import type { Program } from "../harness/process.ts";
import { admit, enrollmentOf, expectWorking, runOnAll } from "./fleet-works.ts";
import { standUp, type TwoVersions } from "./two-versions.ts";

// A fleet of the earlier binaries becomes one of the current binaries, in both orders. All that is done is what
// a package does: a program ends, and its next version starts on the same files.

setDefaultTimeout(120_000);

const members = ["one.example", "two.example"];

/** What is replaced, and in which step. */
const steps = {
  "the first master, which runs the bus": (fleet: TwoVersions) => fleet.startMaster(1, "current"),
  "the second master": (fleet: TwoVersions) => fleet.startMaster(2, "current"),
  "the first peel": (fleet: TwoVersions) => replacePeel(fleet, "one.example"),
  "the second peel": (fleet: TwoVersions) => replacePeel(fleet, "two.example"),
} as const;
type Step = keyof typeof steps;

const masters: readonly Step[] = ["the first master, which runs the bus", "the second master"];
const peels: readonly Step[] = ["the first peel", "the second peel"];

async function replacePeel(fleet: TwoVersions, id: string): Promise<Program> {
  const peel = await fleet.startPeel(id, "current");
  await peel.waitFor("peel connected");
  return peel;
}

/** A job that takes longer than a master needs to be replaced, and adds a line to a file for each peel. */
async function startLongJob(fleet: TwoVersions, name: string): Promise<string> {
  const effect = `sleep 15; echo done >> ${join(fleet.dir, name)}`;
  const ran = await fleet.svc("earlier", "run", "*", "cmd.run", effect, "--async", "--output", "json");
  expect(ran).toMatchObject({ code: 0 });
  return JSON.parse(ran.stdout).jid;
}

describe.each([
  { order: "masters first", steps: [...masters, ...peels] },
  { order: "peels first", steps: [...peels, ...masters] },
])("$order", ({ steps: ordered }) => {
  let fleet: TwoVersions;
  let jid: string;

  beforeAll(async () => {
    fleet = await standUp();
    for (const id of members) await admit(fleet, id, "earlier");
  });
  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  });

  test("the earlier fleet works", async () => {
    expect(await runOnAll(fleet, "earlier", "test.ping")).toEqual({ one_example: "ok", two_example: "ok" });
  });

  for (const [number, step] of ordered.entries()) {
    test(`everything works after ${step}`, async () => {
      const isMaster = masters.includes(step);
      if (isMaster) jid = await startLongJob(fleet, `step-${number}`);
      await steps[step](fleet);
      await expectWorking(fleet, `step-${number}`, members);
      if (!isMaster) return;
      // A replaced master loses no job, and no peel runs it twice.
      const watched = await fleet.svc("current", "job", "watch", jid, "--output", "json");
      expect(watched).toMatchObject({ code: 0 });
      expect(readFileSync(join(fleet.dir, `step-${number}`), "utf8")).toBe("done\n".repeat(members.length));
    });
  }

  test("an earlier job is shown as it ended", async () => {
    const shown = JSON.parse((await fleet.svc("current", "job", "show", jid, "--output", "json")).stdout);
    expect(shown).toMatchObject({ status: "completed", counts: { ok: 2 } });
  });

  test("identities of the earlier version are renewed over the bus", async () => {
    const all = { one_example: "ok", two_example: "ok" };
    const before = await recordOf(fleet, "one.example");
    expect(await runOnAll(fleet, "current", "identity.renew")).toEqual(all);
    expect(await runOnAll(fleet, "current", "identity.renew")).toEqual(all);
    const record = await recordOf(fleet, "one.example");
    expect([before.recoveries, before.renewals]).toEqual([undefined, undefined]);
    expect([record.recoveries, record.renewals]).toEqual([undefined, 2]);
    expect(record.bus_keys?.map(({ public_key }) => public_key)).toHaveLength(3);
    expect(record.bus_keys?.at(0)?.public_key).toBe(before.bus_public_key);
    for (const id of members) {
      const { id: enrollment } = await recordOf(fleet, id);
      expect(readFileSync(authFile(fleet, id, "enrollment"), "utf8")).toBe(`${enrollment}\n`);
    }
  });

  test("they then renew themselves, as soon as an operator makes their lifetime short", async () => {
    fleet.configureMasters((text) => text.replace(/^enroll:$/m, "enroll:\n  creds_validity: 1m"));
    await fleet.startMaster(1, "current");
    await fleet.startMaster(2, "current");
    expect(await runOnAll(fleet, "current", "identity.renew")).toMatchObject({ one_example: "ok" });
    const { renewals = 0 } = await recordOf(fleet, "one.example");
    const peel = await replacePeel(fleet, "one.example");
    await peel.waitFor("credentials renewed", 60_000);
    expect(await recordOf(fleet, "one.example")).toMatchObject({ renewals: renewals + 1 });
  });

  test("a peel that lost its credentials and the ID of its enrollment recovers without an operator", async () => {
    await fleet.stopPeel("two.example");
    rmSync(authFile(fleet, "two.example", "creds"));
    rmSync(authFile(fleet, "two.example", "enrollment"));
    const { id, recoveries = 0 } = await recordOf(fleet, "two.example");
    const peel = await replacePeel(fleet, "two.example");
    expect(peel.output()).toContain('"msg":"credentials recovered"');
    expect(await recordOf(fleet, "two.example")).toMatchObject({ id, recoveries: recoveries + 1 });
    await expectWorking(fleet, "end", members);
  });
});

interface StoredKey {
  public_key: string;
}

interface StoredRecord {
  id: string;
  bus_public_key: string;
  bus_keys?: StoredKey[];
  renewals?: number;
  recoveries?: number;
}

async function recordOf(fleet: TwoVersions, peel: string): Promise<StoredRecord> {
  const id = await enrollmentOf(fleet, "current", peel);
  const shown = await fleet.svc("current", "enroll", "show", id, "--output", "json");
  return JSON.parse(shown.stdout);
}

/** A file of a peel in its `auth` directory. */
function authFile(fleet: TwoVersions, id: string, extension: string): string {
  return join(fleet.dataDir(id), "auth", `${encodePeelId(id)}.${extension}`);
}
