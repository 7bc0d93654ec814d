import { expect, setDefaultTimeout, test } from "bun:test";
import { nextOf, setStage, shiftedClock } from "./stage.ts";

setDefaultTimeout(120_000);

test("the clock of a peel is two hours ahead: doctor and status name the difference", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const peel = fleet.startPeel("web-1");
  await peel.waitFor("waiting for an operator");
  await fleet.svc("enroll", "approve", "--match", "*", "--yes");
  await peel.waitFor("peel connected");
  peel.kill("SIGTERM");
  await peel.exited;
  const wrong = fleet.startPeel("web-1", shiftedClock(fleet.dir, 7_200));
  await wrong.waitFor("peel connected");
  await stage.sees({ status: /WRONG CLOCK +DIFFERENCE\nweb-1 +2h ahead\n/ });
  const { stdout } = await fleet.svc("doctor", "web-1");
  expect(stdout).toMatch(/its clock is 2h ahead of the clock of the bus/);
  expect(nextOf(stdout, "heartbeat")).toStartWith("set the clock of its host (timedatectl set-ntp true)");
  wrong.kill("SIGTERM");
  await wrong.exited;
  const right = fleet.startPeel("web-1");
  await right.waitFor("peel connected");
  await stage.isWell();
  const ran = await fleet.svc("run", "web-1", "test.ping");
  expect(ran.code).toBe(0);
});
