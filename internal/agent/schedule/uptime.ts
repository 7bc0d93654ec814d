import { readFileSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";

/**
 * Creates a clock that only moves forward and, on Linux, goes on while the host sleeps: `/proc/uptime`
 * counts suspended time, which the monotonic clock does not (proc_uptime(5)). Where it cannot be read the
 * monotonic clock moves on alone.
 *
 * @returns milliseconds, of which only differences mean anything
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
    // The file has hundredths of seconds: what is left of rounding never adds up.
    if (behind > asleep) asleep = behind;
    return awake + asleep;
  };
}
