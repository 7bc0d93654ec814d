import { expect, spyOn, test } from "bun:test";
import perfHooks from "node:perf_hooks";
import { createRegistry } from "./registry.ts";

test("an idle program is woken up to measure its lag only when it is scraped, and not a hundred times a second", async () => {
  const monitor = spyOn(perfHooks, "monitorEventLoopDelay");
  try {
    const registry = createRegistry();
    expect(monitor.mock.calls).toHaveLength(0);
    expect(await registry.render()).toContain("nodejs_eventloop_lag_p99_seconds");
    await registry.render();
    expect(monitor.mock.calls).toHaveLength(1);
    expect(monitor.mock.calls[0]?.[0]?.resolution).toBeGreaterThanOrEqual(100);
  } finally {
    monitor.mockRestore();
  }
});

test("the processor time of a program counts from its start, whenever it is scraped for the first time", async () => {
  const used = () => process.cpuUsage().user / 1e6;
  const before = used();
  const text = await createRegistry().render();
  const reported = Number(/^process_cpu_user_seconds_total (\S+)$/m.exec(text)?.[1]);
  expect(reported).toBeGreaterThanOrEqual(before);
  expect(reported).toBeLessThanOrEqual(used());
});
