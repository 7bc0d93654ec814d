import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { setStage } from "./stage.ts";

setDefaultTimeout(120_000);

/** Gives a program another clock than that of its bus. */
function compileShiftedClock(dir: string): string {
  const library = join(dir, "shifted-clock.so");
  const source = join(import.meta.dir, "..", "chaos", "shifted-clock.c");
  const { exitCode, stderr } = Bun.spawnSync(["cc", "-shared", "-fPIC", "-O2", "-o", library, source]);
  if (exitCode !== 0) throw new Error(`cc: ${stderr}`);
  return library;
}

test("the clock of the master is two hours ahead: it says so, and serves again with the right one", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  await stage.stopMaster();
  // The bus of a master removes what it does not know from its environment, and so has the clock of this machine.
  const shifted = { LD_PRELOAD: compileShiftedClock(fleet.dir), CHAOS_CLOCK_OFFSET: "7200" };
  await stage.startMaster({ env: shifted, until: "the clock differs from the others" });
  const words =
    "\\S+ is down: clock: the clock of this host is 2h ahead of that of the bus; until it is right,";
  const next = "next: timedatectl set-ntp true, on the host of that master";
  await stage.sees({
    status: new RegExp(`svc: no master is answering: ${words}.*${next}`),
    doctor: new RegExp(`FAIL .*no master is answering: ${words}.*${next}`),
    readyz: /"clock":\{"status":"down".*"next":"timedatectl set-ntp true/,
    log: /"the clock differs from the others"/,
  });
  const ran = await fleet.svc("run", "*", "test.ping");
  expect([ran.code, ran.stderr]).toEqual([
    1,
    expect.stringMatching(new RegExp(`no master is answering: ${words}`)),
  ]);
  await stage.stopMaster();
  await stage.startMaster();
  await stage.isWell();
});
