import { expect, setDefaultTimeout, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { nextOf, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test.each(["account.seed", "master.creds", "command.seed"])(
  "%s is missing: the master names it and the backup, and serves again with it",
  async (name) => {
    await using stage = await setStage();
    const path = join(stage.fleet.dir, "auth", name);
    await stage.stopMaster();
    renameSync(path, `${path}.away`);
    await stage.startMaster({ until: "restore it from the backup of this fleet" });
    expect(await stage.master().exited).toBe(1);
    expect(stage.master().output()).toContain(`${path}: no such file`);
    expect(stage.master().output()).not.toContain("make it with");
    renameSync(`${path}.away`, path);
    await stage.startMaster();
    await stage.isWell();
  },
);

test("settings.seed is missing: the master serves, and names it with the backup until it is back", async () => {
  await using stage = await setStage();
  const path = join(stage.fleet.dir, "auth", "settings.seed");
  await stage.stopMaster();
  renameSync(path, `${path}.away`);
  await stage.startMaster();
  const seen = await stage.sees({
    readyz: /"keys":\{"status":"degraded","message":"[^"]*settings\.seed is missing"/,
    doctor: /warn {2}masters .*settings\.seed is missing/,
  });
  expect(nextOf(seen.doctor, "masters")).toStartWith(`restore ${path} from the backup of this fleet`);
  renameSync(`${path}.away`, path);
  await stage.isWell();
});
