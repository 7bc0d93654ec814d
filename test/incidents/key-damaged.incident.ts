import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test.each([
  ["master.creds", "garbage\n", "is damaged: not a credentials file"],
  ["master.creds", "", "is damaged: not a credentials file"],
  ["account.seed", "garbage\n", "is damaged: not a valid account seed"],
  ["command.seed", "garbage\n", "not a valid user seed"],
  ["settings.seed", "garbage\n", "not a valid curve seed"],
])(
  "%s contains %j: the master names it, and serves again with that of the backup",
  async (name, text, words) => {
    await using stage = await setStage();
    const path = join(stage.fleet.dir, "auth", name);
    const backup = join(stage.fleet.dir, "backup");
    copyFileSync(path, backup);
    await stage.stopMaster();
    writeFileSync(path, text);
    await stage.startMaster({ until: "restore it from the backup of this fleet" });
    expect(await stage.master().exited).toBe(1);
    expect(stage.master().output()).toMatch(new RegExp(`svc-master: ${path}:? ${words}`));
    copyFileSync(backup, path);
    await stage.startMaster();
    await stage.isWell();
  },
);
