import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startBus } from "../harness/bus.ts";
import { startMasterBinary, startPeelBinary } from "../harness/fleet.ts";

const environmentOf = (pid: number) => readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
const setting = (pid: number) => environmentOf(pid).filter((line) => line.startsWith("MIMALLOC_"));

test("a daemon sets the allocator in its own process, and what its service sets stays", async () => {
  await using bus = await startBus();
  await using master = await startMasterBinary(bus);
  // The process that was started is the one that serves: its service manager knows no other.
  expect(setting(master.program.pid)).toEqual(["MIMALLOC_PURGE_DELAY=0"]);
  await using peel = startPeelBinary(bus, master.url, "idle-1");
  await peel.program.waitFor("enrollment pending");
  expect(setting(peel.program.pid)).toEqual(["MIMALLOC_PURGE_DELAY=0"]);
  const env = { MIMALLOC_PURGE_DELAY: "20" };
  await using own = startPeelBinary(bus, master.url, "idle-2", { env });
  await own.program.waitFor("enrollment pending");
  expect(setting(own.program.pid)).toEqual(["MIMALLOC_PURGE_DELAY=20"]);
});
