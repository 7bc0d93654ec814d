import { readFileSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";

/**
 * Creates a clock that only moves forward and, on Linux, includes the time the host sleeps: unlike the
 * monotonic clock, `/proc/uptime` counts suspended time (proc_uptime(5)). Where it cannot be read, only the
 * monotonic clock is used.
 *
 * @returns milliseconds; only differences are meaningful
 */
export function createUptime(
  clock: Pick<Clock, "monotonic">,
  read: () => string = () => readFileSync("/proc/uptime", "utf8"),
): () => number {
  const uptime = () => {
    try {
      return Number.parseFloat(read()) * 1000;
    } catch {
      return Number.NaN;
    }
  };
  const from = { monotonic: clock.monotonic(), uptime: uptime() };
  let asleep = 0;
  return () => {
    const awake = clock.monotonic() - from.monotonic;
    const behind = uptime() - from.uptime - awake;
    // The file has a resolution of 10 ms: rounding errors do not accumulate.
    if (behind > asleep) asleep = behind;
    return awake + asleep;
  };
}
