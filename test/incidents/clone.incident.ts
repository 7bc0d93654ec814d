import { setDefaultTimeout, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/until.ts";
import { end, nextOf, setStage } from "./stage.ts";

setDefaultTimeout(180_000);

test("a peel runs a second time from a copied directory: it is named, and the next step clears it", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  await stage.join("web-1");
  const copy = join(fleet.dir, "copy");
  cpSync(join(fleet.dir, "peel"), copy, { recursive: true });
  const twin = fleet.startPeel("web-1", { SVC_DATA_DIR: copy });
  await twin.waitFor("peel connected");
  // Two processes of one peel are a clone when both live for more than 30 s.
  await until(stage.inspect, (sight) => sight.doctor.includes("FAIL  identities"));
  const { doctor } = await stage.sees({
    status: /^CLONE SUSPECTED +PEEL ID +SEEN\nenr-\S+ +web-1 /m,
    doctor: /^FAIL {2}identities +another host holds the identity of web-1 \(last seen at \S+\)/m,
  });
  const next = nextOf(doctor, "identities");
  const [, command = ""] = /^find the other host; then (svc enroll clear-clone \S+),/.exec(next) ?? [];
  await end(twin);
  await stage.follow(command);
  await stage.isWell();
  // The goodbye of the twin counts for both, until the next heartbeat of the other one.
  await until(
    () => fleet.svc("run", "web-1", "test.ping"),
    ({ code }) => code === 0,
  );
});
