import { sayDuration } from "../../base/duration.ts";
import type { CheckResult } from "../../program/health/mod.ts";

/** More than this between a clock and the others needs attention. */
const degradedMs = 5_000;
/** More than this, and no deadline or expiry that the clock measures can be trusted. */
const unsoundMs = 60_000;

/** Clock readings as differences from the bus, in milliseconds; positive means ahead of it. */
export interface Readings {
  own: number;
  /** Of the other live masters that report theirs. */
  others: readonly number[];
}

/**
 * Judges the clock of this master. The bus and each master have one voice: a clock is unsound when it differs
 * from the bus by more than a minute, unless most clocks agree with it and the bus is the one that is wrong.
 */
export function judgeClock({ own, others }: Readings): CheckResult {
  if (Math.abs(own) <= degradedMs) return { status: "up" };
  const clocks = [0, own, ...others];
  const agreeing = clocks.filter((one) => Math.abs(one - own) <= degradedMs).length;
  if (agreeing * 2 > clocks.length) {
    return {
      status: "degraded",
      message: `the clock of the bus is ${differenceOf(-own)} that of this host and of most masters`,
      next: "timedatectl set-ntp true, on the hosts of the bus servers",
    };
  }
  const message = `the clock of this host is ${differenceOf(own)} that of the bus`;
  if (Math.abs(own) <= unsoundMs) return { status: "degraded", message };
  return { status: "down", message: `${message}; until it is right, this master decides and signs nothing` };
}

/** `3m20s ahead of`, `2h behind` */
function differenceOf(ms: number): string {
  const size = sayDuration(Math.round(Math.abs(ms) / 1000) * 1000);
  return ms > 0 ? `${size} ahead of` : `${size} behind`;
}
