import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { admit } from "./fleet-works.ts";
import { standUp, type TwoVersions } from "./two-versions.ts";

// A command whose output is followed, on a fleet that is upgraded step by step, by svc of both versions.

setDefaultTimeout(120_000);

const peel = "one.example";
let fleet: TwoVersions;

beforeAll(async () => {
  fleet = await standUp();
  await admit(fleet, peel, "earlier");
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

test.each<[string, () => Promise<unknown>]>([
  ["before the upgrade", async () => {}],
  ["with one upgraded master", () => fleet.startMaster(1, "current")],
  ["with upgraded masters", () => fleet.startMaster(2, "current")],
  ["with an upgraded peel", async () => (await fleet.startPeel(peel, "current")).waitFor("peel connected")],
])("%s, a command is followed", async (_, upgrade) => {
  await upgrade();
  for (const version of ["earlier", "current"] as const) {
    const call = ["run", peel, "cmd.run", "echo first; sleep 1; echo second", "--follow"];
    const { code, stderr } = await fleet.svc(version, ...call);
    expect([version, code]).toEqual([version, 0]);
    expect(stderr).toMatch(/^first$/m);
    expect(stderr).toMatch(/^second$/m);
  }
});
