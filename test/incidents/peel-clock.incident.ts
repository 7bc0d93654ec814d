import { expect, setDefaultTimeout, test } from "bun:test";
import { end, nextOf, setStage, shiftedClock } from "./stage.ts";

setDefaultTimeout(120_000);

test("the clock of a peel is two hours ahead: doctor and status name the difference", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const peel = await stage.join("web-1");
  await end(peel);
  const wrong = fleet.startPeel("web-1", shiftedClock(fleet.dir, 7_200));
  await wrong.waitFor("peel connected");
  await stage.sees({ status: /WRONG CLOCK +DIFFERENCE\nweb-1 +2h ahead\n/ });
  const { stdout } = await fleet.svc("doctor", "web-1");
  expect(stdout).toMatch(/its clock is 2h ahead of the clock of the bus/);
  expect(nextOf(stdout, "heartbeat")).toStartWith("set the clock of its host (timedatectl set-ntp true)");
  const refused = await fleet.svc("run", "web-1", "test.ping", "--output", "json");
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(
    /never began: the deadline passed 1h59m(?:\d+s)? ago by the clock of this host \(\S+\); next: if that clock is wrong, timedatectl set-ntp true/,
  );
  await end(wrong);
  const right = fleet.startPeel("web-1");
  await right.waitFor("peel connected");
  await stage.isWell();
  const ran = await fleet.svc("run", "web-1", "test.ping");
  expect(ran.code).toBe(0);
});
