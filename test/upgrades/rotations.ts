import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { spkiPin, splitPem } from "../../internal/identity/trust/pin.ts";
import { until } from "../identities/two-masters.ts";
import { admit, runOnAll } from "./fleet-works.ts";
import { standUp, type TwoVersions } from "./two-versions.ts";

// Roots and command keys are replaced while an earlier master or an earlier peel still runs. Both masters have one
// auth directory here, as they run on one host.

setDefaultTimeout(120_000);

let fleet: TwoVersions;
const all = { one_example: "ok", two_example: "ok" };

beforeAll(async () => {
  fleet = await standUp();
  for (const id of ["one.example", "two.example"]) await admit(fleet, id, "earlier");
  await fleet.startMaster(1, "current");
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

const rotate = (...args: string[]) =>
  fleet.svc("current", "ca", "rotate", ...args, "--dir", join(fleet.dir, "auth/ca"), "--output", "json");
const keys = (...args: string[]) =>
  fleet.svc("current", "keys", ...args, "--dir", join(fleet.dir, "auth"), "--output", "json");
const json = async (requested: ReturnType<typeof keys>) => JSON.parse((await requested).stdout);

test("programs of both versions take part in the rotation of a root and of the command key", async () => {
  expect(await rotate("start")).toMatchObject({ code: 0 });
  await until(
    () => json(rotate("status")),
    ({ masters, peels }) =>
      peels.both === 2 &&
      masters.filter(({ knows_next }: { knows_next: boolean }) => knows_next).length === 2,
  );
  expect(await keys("rotate", "command")).toMatchObject({ code: 0 });
  expect(await runOnAll(fleet, "current", "test.ping")).toEqual(all);
  await fleet.startMaster(2, "current");
});

test("when all is upgraded, both changes are finished", async () => {
  const peel = await fleet.startPeel("one.example", "current");
  await peel.waitFor("peel connected");
  await until(
    () => keys("finish", "command"),
    ({ code }) => code === 0,
  );
  await until(
    () => rotate("activate"),
    ({ code }) => code === 0,
  );
  expect(await runOnAll(fleet, "current", "test.ping")).toEqual(all);
  await until(
    () => rotate("finish"),
    ({ code }) => code === 0,
  );
  const { current } = await json(rotate("status"));
  const anchor = join(fleet.dataDir("one.example"), "auth/enroll-ca.crt");
  await until(
    async () => splitPem(readFileSync(anchor, "utf8")).map(spkiPin).join(),
    (pins) => pins === current,
  );
  expect(await runOnAll(fleet, "current", "test.ping")).toEqual(all);
});
