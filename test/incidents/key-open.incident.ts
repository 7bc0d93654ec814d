import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../harness/process.ts";
import { nextOf, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test.each(["account.seed", "master.creds"])(
  "others can read %s: it is named with the command, and that command is the cure",
  async (name) => {
    await using stage = await setStage();
    const path = join(stage.fleet.dir, "auth", name);
    chmodSync(path, 0o644);
    await stage.stopMaster();
    await stage.startMaster();
    const command = `chmod 600 ${path}`;
    const seen = await stage.sees({
      status: new RegExp(`is degraded: keys: .*${name}; next: ${command}`),
      doctor: new RegExp(`^warn {2}masters .* is degraded: keys: .*${name}`, "m"),
      readyz: new RegExp(`"keys":\\{"status":"degraded".*"next":"${command}"`),
      log: new RegExp(`"others can read the keys of this master".*${command}`),
    });
    const next = nextOf(seen.doctor, "masters");
    expect(next).toBe(command);
    expect((await runProgram(next.split(" "))).code).toBe(0);
    await stage.isWell();
  },
);
