import { expect, test } from "bun:test";
import { daemonSettings } from "./start-daemon.ts";

const gibibyte = 1024 ** 3;

test("the runtime is as thrifty on a host with much memory as on others", () => {
  const eight = `${8 * gibibyte}`;
  expect(daemonSettings(64 * gibibyte)).toEqual({ MIMALLOC_PURGE_DELAY: "0", BUN_JSC_forceRAMSize: eight });
  expect(daemonSettings(8 * gibibyte + 1)).toHaveProperty("BUN_JSC_forceRAMSize", eight);
  // It must not take a small host for a larger one.
  expect(daemonSettings(8 * gibibyte)).toEqual({ MIMALLOC_PURGE_DELAY: "0" });
  expect(daemonSettings(gibibyte)).toEqual({ MIMALLOC_PURGE_DELAY: "0" });
});
