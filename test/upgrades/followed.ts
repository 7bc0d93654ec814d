import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { admit, runOnAll } from "./fleet-works.ts";
import { standUp, type TwoVersions } from "./two-versions.ts";

// A command whose output is followed, on a fleet that is upgraded step by step: what is too old is named, and the
// answer is complete in any case.

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

const follow = () =>
  fleet.svc("current", "run", peel, "cmd.run", "echo first; sleep 1; echo second", "--follow");

test("masters that are too old are named, and nothing runs", async () => {
  expect(await follow()).toEqual({
    code: 1,
    stdout: "",
    stderr: "svc: the masters are too old for --follow: upgrade them first, or run it without --follow\n",
  });
});

test("a peel that is too old is named, and its answer is whole", async () => {
  await fleet.startMaster(1, "current");
  await fleet.startMaster(2, "current");
  // The peel has found the new masters.
  expect(await runOnAll(fleet, "current", "test.ping")).toEqual({ one_example: "ok" });
  const { code, stdout, stderr } = await follow();
  expect([code, stdout.match(/^ +(first|second)$/gm)?.map((line) => line.trim())]).toEqual([
    0,
    ["first", "second"],
  ]);
  expect(stderr).toContain(
    `${peel} reported nothing while the command ran: the peel is too old for --follow; upgrade it with svc upgrade\n`,
  );
});

test("an upgraded peel is followed", async () => {
  const upgraded = await fleet.startPeel(peel, "current");
  await upgraded.waitFor("peel connected");
  const { code, stderr } = await follow();
  expect(code).toBe(0);
  expect(stderr).toMatch(/^first$/m);
  expect(stderr).toMatch(/^second$/m);
  expect(stderr).not.toContain("too old");
});
