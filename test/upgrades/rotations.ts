import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { spkiPin, splitPem } from "../../internal/identity/trust/pin.ts";
import { until } from "../identities/two-masters.ts";
import { admit, runOnAll } from "./fleet-works.ts";
import { earlierRenews, standUp, type TwoVersions } from "./two-versions.ts";

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
const json = async (asked: ReturnType<typeof keys>) => JSON.parse((await asked).stdout);

/** The names of the live masters, by whether they report keys. */
async function masterNames(reporting: boolean): Promise<string[]> {
  const { masters } = await json(keys("status"));
  return (masters as { name: string; command_keys: string[] }[])
    .filter(({ command_keys }) => command_keys.length > 0 === reporting)
    .map(({ name }) => name);
}

test.if(!earlierRenews)(
  "while an earlier master runs, no root is rotated and no key is dropped, and the master is named",
  async () => {
    const [earlier = ""] = await until(
      () => masterNames(false),
      (names) => names.length === 1,
    );
    const refused = await rotate("start");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /^svc: running master .* has an earlier version, .*upgrade all masters.*\n$/,
    );
    expect(refused.stderr).toContain(earlier);
    expect(existsSync(join(fleet.dir, "auth/ca/next"))).toBe(false);
    expect(await json(keys("status"))).toMatchObject({ notes: [expect.stringContaining(earlier)] });
    expect(await runOnAll(fleet, "current", "test.ping")).toEqual(all);
  },
);

test.if(!earlierRenews)(
  "an earlier peel goes on during a rotation of the root, and activate names it",
  async () => {
    await fleet.startMaster(2, "current");
    const peel = await fleet.startPeel("two.example", "current");
    await peel.waitFor("peel connected");
    await until(
      () => masterNames(true),
      (names) => names.length === 2,
    );
    expect(await rotate("start")).toMatchObject({ code: 0 });
    const status = () => json(rotate("status"));
    const shown = await until(
      status,
      ({ masters, peels }) =>
        peels.both === 1 &&
        masters.filter(({ knows_next }: { knows_next: boolean }) => knows_next).length === 2,
    );
    expect(shown).toMatchObject({
      peels: { both: 1, unknown: 1 },
      lacking: [{ peel_id: "one_example", alive: true, reason: expect.stringContaining("upgrade svc-peel") }],
    });
    const refused = await rotate("activate");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("1 running peel without the next root: one.example;");
    expect(await runOnAll(fleet, "current", "test.ping")).toEqual(all);
  },
);

test.if(!earlierRenews)(
  "an earlier peel goes on while the command key changes, and finish names it",
  async () => {
    expect(await keys("rotate", "command")).toMatchObject({ code: 0 });
    const refused = await until(
      () => keys("finish", "command"),
      ({ stderr }) => stderr.includes("1 alive peel has not confirmed"),
    );
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("1 alive peel has not confirmed the next command key: one.example");
    expect(await runOnAll(fleet, "current", "test.ping")).toEqual(all);
  },
);

test.if(earlierRenews)(
  "an earlier version that knows both takes part in the rotation of a root and of the command key",
  async () => {
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
  },
);

test("when it is upgraded it follows, and both changes are finished", async () => {
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
