import { expect, spyOn, test } from "bun:test";
import perfHooks from "node:perf_hooks";
import { createRegistry } from "./registry.ts";

test("an idle program is not woken up a hundred times a second to measure its lag", async () => {
  const monitor = spyOn(perfHooks, "monitorEventLoopDelay");
  try {
    const registry = createRegistry();
    expect(monitor.mock.calls).toHaveLength(1);
    expect(monitor.mock.calls[0]?.[0]?.resolution).toBeGreaterThanOrEqual(100);
    expect(await registry.render()).toContain("nodejs_eventloop_lag_p99_seconds");
  } finally {
    monitor.mockRestore();
  }
});
