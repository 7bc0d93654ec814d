import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";
import { nextOf, setStage, shiftedClock } from "./stage.ts";

setDefaultTimeout(120_000);

test.each([
  [7_200, "storage", /is refused: it was signed at \S+, 2h ahead of the clock of this master: set the clock/],
  [-7_200, "bus TLS", /certificate is not valid yet: set the clock of this host/],
])("the clock of an operator is off by %d s: what svc says is to set it", async (seconds, step, words) => {
  await using stage = await setStage();
  const { fleet } = stage;
  await stage.join("web-1");
  const env = shiftedClock(fleet.dir, seconds);
  const svc = (...args: string[]) =>
    runProgram([binaries.cli, "--config", join(fleet.dir, "svc.yaml"), ...args], { cwd: fleet.dir, env });
  const ran = await svc("run", "web-1", "test.ping");
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(words)]);
  const { stdout } = await svc("doctor");
  expect(nextOf(stdout, step)).toBe("timedatectl set-ntp true, on this host: its clock is wrong");
  expect((await fleet.svc("run", "web-1", "test.ping")).code).toBe(0);
  await stage.isWell();
});
