import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/until.ts";
import { setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("the bus is killed: its master starts it again, and status, events and metrics say so", async () => {
  await using stage = await setStage();
  const note = readFileSync(join(stage.fleet.dir, "bus", "nats-server.process"), "utf8");
  const [, pid] = /(\d+)/.exec(note) ?? [];
  process.kill(Number(pid), "SIGKILL");
  await stage.master().waitFor('"bus ended"');
  await stage.isWell();
  await stage.sees({ status: /^BUS RESTARTED +TIMES +LAST\n\S+ +1 +\S+( ago)?$/m });
  const events = () => stage.fleet.svc("events", "--since", "1h", "--tag", "svc/bus/restarted");
  const { stdout } = await until(events, (shown) => shown.stdout.includes("svc/bus/restarted"));
  expect(stdout).toMatch(/ _master +svc\/bus\/restarted +master=\S+ restarts=1 at=\S+/);
  const metrics = await (await fetch(`${stage.healthUrl}/metrics`)).text();
  expect(metrics).toMatch(/^svc_embedded_bus_restarts_total 1$/m);
});
