import { expect, setDefaultTimeout, test } from "bun:test";
import { end, setStage, shiftedClock } from "./stage.ts";

setDefaultTimeout(120_000);

test("the clock of a peel is two hours behind in a young fleet: the peel and its check name the clock", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const peel = await stage.join("web-1");
  await end(peel);
  const env = shiftedClock(fleet.dir, -7_200);
  const wrong = fleet.startPeel("web-1", env);
  await wrong.waitFor("check the clock of this host first (date -u)");
  // What svc doctor names for a silent peel.
  const checked = await stage.checkPeel("web-1", env);
  expect(checked.code).toBe(1);
  expect(checked.stdout).toMatch(/clock/);
  await end(wrong);
  const right = fleet.startPeel("web-1");
  await right.waitFor("peel connected");
  await stage.isWell();
  expect((await fleet.svc("run", "web-1", "test.ping")).code).toBe(0);
});
