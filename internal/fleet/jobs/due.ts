import type { Outcome } from "./records/mod.ts";
import type { TargetKnown } from "./tally.ts";

/** Whether masters reach a peel, and if not, since when, milliseconds since the Unix epoch, as far as it is known. */
export interface Reach {
  connected: boolean;
  since?: number;
}

/** Which targets a job waits for. */
export interface Due {
  /** Whether every target has ended. */
  complete: boolean;
  /** Whether everyone has ended who can: what is left is of peels that are not connected. */
  isDue: boolean;
  /** Targets that get the job if they come back before the deadline, with since when they are away. */
  away: ReadonlyMap<string, number | undefined>;
}

/**
 * Judges whether a job is worth waiting for. A target that accepted it is waited for also when it is not connected: it
 * works on the job. Every door reports with this that a job is not complete.
 *
 * @param reach called for those that are pending and never accepted the job
 */
export function judgeDue(
  outcomes: Iterable<readonly [string, Outcome]>,
  known: (peel: string) => Pick<TargetKnown, "acknowledged">,
  reach: (peel: string) => Reach,
): Due {
  const away = new Map<string, number | undefined>();
  let pending = 0;
  for (const [peel, outcome] of outcomes) {
    if (outcome !== "pending") continue;
    pending++;
    if (known(peel).acknowledged) continue;
    const { connected, since } = reach(peel);
    if (!connected) away.set(peel, since);
  }
  return { complete: pending === 0, isDue: pending === away.size, away };
}
