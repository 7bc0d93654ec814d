import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { daemonSettings } from "../../internal/base/process/start-daemon.ts";
import { startBus } from "../harness/bus.ts";
import { startMasterBinary, startPeelBinary } from "../harness/fleet.ts";

const environmentOf = (pid: number) => readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
const linesOf = (settings: Record<string, string>) =>
  Object.entries(settings)
    .map((setting) => setting.join("="))
    .sort();
const settingsOf = (pid: number) =>
  environmentOf(pid)
    .filter((line) => /^(MIMALLOC|BUN_JSC)_/.test(line))
    .sort();

test("a daemon sets allocator and collector in its own process, and what its service sets stays", async () => {
  await using bus = await startBus();
  await using master = await startMasterBinary(bus);
  // The process that was started is the one that serves: its service manager knows no other.
  const usual = linesOf(daemonSettings(process.constrainedMemory()));
  expect(settingsOf(master.program.pid)).toEqual(usual);
  await using peel = startPeelBinary(bus, master.url, "idle-1");
  await peel.program.waitFor("enrollment pending");
  expect(settingsOf(peel.program.pid)).toEqual(usual);
  const env = { MIMALLOC_PURGE_DELAY: "20", BUN_JSC_forceRAMSize: "4294967296" };
  await using own = startPeelBinary(bus, master.url, "idle-2", { env });
  await own.program.waitFor("enrollment pending");
  expect(settingsOf(own.program.pid)).toEqual(linesOf(env));
});
