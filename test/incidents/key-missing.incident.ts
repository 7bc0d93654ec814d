import { expect, setDefaultTimeout, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { setStage } from "./stage.ts";

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
