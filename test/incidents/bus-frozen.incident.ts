import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nextOf, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("the bus is frozen: every command ends, and names the bus", async () => {
  await using stage = await setStage();
  const note = readFileSync(join(stage.fleet.dir, "bus", "nats-server.process"), "utf8");
  const pid = Number(/(\d+)/.exec(note)?.[1]);
  process.kill(pid, "SIGSTOP");
  try {
    const { doctor, readyz } = await stage.inspect();
    expect(doctor).toMatch(/FAIL {2}bus connection/);
    expect(nextOf(doctor, "bus connection")).toStartWith("start the bus");
    expect(readyz).toMatch(/"bus":\{"status":"down".*"next":"make room on the disk of/);
    const { code, stderr } = await stage.fleet.svc("status", "--connect-timeout", "2s");
    expect([code, stderr]).toEqual([1, expect.stringContaining("cannot connect to the bus")]);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await stage.isWell();
});
