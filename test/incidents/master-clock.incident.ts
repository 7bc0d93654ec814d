import { expect, setDefaultTimeout, test } from "bun:test";
import { setStage, shiftedClock } from "./stage.ts";

setDefaultTimeout(120_000);

test("the clock of the master is two hours ahead: it says so, and serves again with the right one", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  await stage.stopMaster();
  // The bus of a master removes what it does not know from its environment, and so has the clock of this machine.
  const env = shiftedClock(fleet.dir, 7_200);
  await stage.startMaster({ env, until: "the clock differs from the others" });
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
