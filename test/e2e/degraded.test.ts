import { expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory } from "../../internal/base/files/file.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { readinessBecomes } from "../harness/enrollee.ts";
import { startMasterBinary, svc } from "../harness/fleet.ts";
import { until } from "../harness/until.ts";

// What svc doctor and svc status tell of a master that runs and is not well, with the compiled programs.

setDefaultTimeout(40_000);

/** Both commands, which must answer within 10 s. */
async function examine(bus: TestBus) {
  const timed = async (...argv: string[]) => {
    const began = systemClock.monotonic();
    const { code, stdout } = await svc(bus, ...argv);
    expect(systemClock.monotonic() - began).toBeLessThan(10_000);
    return { code, stdout };
  };
  return { doctor: await timed("doctor"), status: await timed("status") };
}

/** Resolves when the check of a master has this status. */
async function checkBecomes(healthUrl: string, name: string, wanted: string): Promise<void> {
  for (;;) {
    const { checks } = (await (await fetch(`${healthUrl}/readyz`)).json()) as {
      checks: Record<string, { status: string }>;
    };
    if (checks[name]?.status === wanted) return;
  }
}

test("a broken file of settings or rules shows in svc doctor and svc status with its place, and removed storage is made again", async () => {
  await using bus = await startBus();
  const dir = join(bus.dir, "data");
  for (const name of ["", "settings", "reactor", "states"]) makeDirectory(join(dir, name), 0o700);
  const write = (path: string, text: string) => writeFileSync(join(dir, path), text);
  write("settings/top.sls", "base:\n  '*': [common]\n");
  write("settings/common.sls", "a: 1\n");
  await using master = await startMasterBinary(bus, [], { SVC_DATA_DIR: dir });
  await readinessBecomes(master.healthUrl, 200);
  const well = await examine(bus);
  expect([well.doctor.code, well.status.code]).toEqual([0, 0]);
  expect(well.doctor.stdout).toMatch(/^ok {4}masters/m);
  expect(well.status.stdout).not.toContain("note:");

  for (const [check, path, broken, place] of [
    ["settings", "settings/top.sls", "base:\n  '*': [common\n", "top.sls:"],
    ["reactor", "reactor/one.yaml", "rules:\n  - nmae: x\n", "one.yaml:"],
  ] as const) {
    write(path, broken);
    await checkBecomes(master.healthUrl, check, "degraded");
    const found = await examine(bus);
    const reported = new RegExp(`is degraded: .*${check}: .*${place}`);
    expect(found.doctor.stdout).toMatch(new RegExp(`warn {2}masters .*${reported.source}`));
    expect(found.status.stdout).toMatch(new RegExp(`note: master .*${reported.source}`));
    if (check === "settings") write(path, "base:\n  '*': [common]\n");
    else rmSync(join(dir, path));
    await checkBecomes(master.healthUrl, check, "up");
  }
  expect((await examine(bus)).status.stdout).not.toContain("note:");

  // Storage that was removed is made again by the master that guards it.
  const admin = await connectTo(bus, "master");
  const { streams } = await admin.nats.jetstreamManager();
  await streams.delete("OBJ_states");
  await until(() => streams.info("OBJ_states").catch(() => undefined));
  await admin.nats.close();
  await checkBecomes(master.healthUrl, "storage", "up");
});
