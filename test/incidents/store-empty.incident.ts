import { expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/until.ts";
import { end, nextOf, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("the bus starts with an empty store: members stay members, and the next step brings the rest back", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const peel = await stage.join("web-1");
  await stage.stopMaster();
  rmSync(join(fleet.dir, "bus", "store"), { recursive: true });
  await stage.startMaster();
  await stage.master().waitFor("a decision that the bus had lost was put back");
  const run = () => fleet.svc("run", "web-1", "test.ping");
  await until(run, ({ code }) => code === 0);
  const { stdout } = await fleet.svc("doctor", "web-1");
  expect(stdout).toMatch(/^warn {2}facts +no facts are stored/m);
  expect(nextOf(stdout, "facts")).toStartWith("on its host: systemctl restart svc-peel");
  await end(peel);
  const again = fleet.startPeel("web-1");
  await again.waitFor("peel connected");
  const doctor = () => fleet.svc("doctor", "web-1");
  await until(doctor, (shown) => !/^(?:FAIL|warn)/m.test(shown.stdout));
  await stage.isWell();
});
