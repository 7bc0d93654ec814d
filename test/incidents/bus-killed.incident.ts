import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("the bus is killed: its master starts it again, and counts that", async () => {
  await using stage = await setStage();
  const note = readFileSync(join(stage.fleet.dir, "bus", "nats-server.process"), "utf8");
  const [, pid] = /(\d+)/.exec(note) ?? [];
  process.kill(Number(pid), "SIGKILL");
  await stage.master().waitFor('"bus ended"');
  await stage.isWell();
  const metrics = await (await fetch(`${stage.healthUrl}/metrics`)).text();
  expect(metrics).toMatch(/^svc_embedded_bus_restarts_total 1$/m);
});
