import type { Clock } from "../../base/clock.ts";
import type { Limits } from "./limits.ts";
import { probe } from "./probe.ts";

/**
 * A peel whose port another program took tries again each minute. When that program has gone, the peel gets this time
 * to listen before its silence counts.
 */
const takesBackMs = 90_000;

/** Requests the health server of the peel once. @returns nothing without an answer in time */
export function requestHealth(
  { health, limits, clock }: { health: { host: string; port: number }; limits: Limits; clock: Clock },
  signal: AbortSignal,
) {
  return probe({ ...health, path: "/healthz", timeoutMs: limits.answerMs, clock, signal });
}

/**
 * Counts answers that do not come. While another program has the port of the peel, nobody can know whether the peel is
 * frozen: killing it would let every user of this host keep it from working.
 *
 * @param isTaken whether another program has its port
 * @param onWell is called when the peel has been well for long enough
 */
export function createHealth(
  options: Parameters<typeof requestHealth>[0],
  { isTaken, onWell }: { isTaken(): boolean; onWell(): void },
): { check(over: AbortSignal): Promise<"frozen" | "fine"> } {
  const { limits, clock } = options;
  let nextRequestAt = clock.monotonic() + limits.healthEveryMs;
  let silent = 0;
  let wellSince: number | undefined;
  let takenAt: number | undefined;
  return {
    async check(over) {
      if (clock.monotonic() < nextRequestAt) return "fine";
      const answer = await requestHealth(options, over);
      const now = clock.monotonic();
      nextRequestAt = now + limits.healthEveryMs;
      if (answer === undefined) {
        wellSince = undefined;
        if (isTaken()) takenAt = now;
        if (takenAt !== undefined && now - takenAt < takesBackMs) return "fine";
        return ++silent >= limits.healthTries ? "frozen" : "fine";
      }
      silent = 0;
      wellSince ??= now;
      if (now - wellSince >= limits.wellAfterMs) onWell();
      return "fine";
    },
  };
}
