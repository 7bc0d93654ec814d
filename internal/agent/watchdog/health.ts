import type { Clock } from "../../base/clock.ts";
import type { Limits } from "./limits.ts";
import { probe } from "./probe.ts";

/** Requests the health server of the peel once. @returns nothing without an answer in time */
export function requestHealth(
  { health, limits, clock }: { health: { host: string; port: number }; limits: Limits; clock: Clock },
  signal: AbortSignal,
) {
  return probe({ ...health, path: "/healthz", timeoutMs: limits.answerMs, clock, signal });
}

/**
 * Counts answers that do not come.
 *
 * @param onWell is called when the peel has been well for long enough
 */
export function createHealth(
  options: Parameters<typeof requestHealth>[0],
  onWell: () => void,
): { check(over: AbortSignal): Promise<"frozen" | "fine"> } {
  const { limits, clock } = options;
  let nextRequestAt = clock.monotonic() + limits.healthEveryMs;
  let silent = 0;
  let wellSince: number | undefined;
  return {
    async check(over) {
      if (clock.monotonic() < nextRequestAt) return "fine";
      const answer = await requestHealth(options, over);
      const now = clock.monotonic();
      nextRequestAt = now + limits.healthEveryMs;
      if (answer === undefined) {
        wellSince = undefined;
        return ++silent >= limits.healthTries ? "frozen" : "fine";
      }
      silent = 0;
      wellSince ??= now;
      if (now - wellSince >= limits.wellAfterMs) onWell();
      return "fine";
    },
  };
}
