/**
 * How long a master counts as running after its last heartbeat, milliseconds. It covers the time that it needs to
 * connect again after a restart of the bus.
 */
export const usualQuietMs = 30_000;

/** A heartbeat of a master. Times are milliseconds on a clock that never jumps. */
export interface SeenMaster {
  name: string;
  /** It writes vouchers. Masters of an earlier version do not. */
  vouches: boolean;
  seenAt: number;
}

/** What a master knows when it decides whether to adopt the records. */
export interface AdoptionView {
  masters: readonly SeenMaster[];
  /** Since when it has been reading heartbeats. */
  watchedSince: number;
  /** How long no master of an earlier version must have been seen. */
  quietMs: number;
  /** Whether a record counts at all. */
  isEmpty: boolean;
  /** Records without valid vouchers. */
  unvouched: number;
  /** `enroll.adopt_unvouched`, or an operator asked for it. */
  allowed: boolean;
}

export type AdoptionDecision =
  | { adopt: true }
  | { adopt: false; because: "older masters run"; older: string[]; lookAgainInMs: number }
  | { adopt: false; because: "older masters may run"; lookAgainInMs: number }
  | { adopt: false; because: "an operator must allow it" };

/** Names of the masters of an earlier version that may still run. */
export function olderMasters(view: Pick<AdoptionView, "masters" | "quietMs">, now: number): string[] {
  return mayRun(view, now)
    .map(({ name }) => name)
    .sort();
}

function mayRun({ masters, quietMs }: Pick<AdoptionView, "masters" | "quietMs">, now: number): SeenMaster[] {
  return masters.filter(({ vouches, seenAt }) => !vouches && now - seenAt < quietMs);
}

/**
 * Whether the records may be adopted now. After that, what a master of an earlier version writes counts for
 * nothing.
 */
export function decideAdoption(view: AdoptionView, now: number): AdoptionDecision {
  const { watchedSince, quietMs } = view;
  const older = mayRun(view, now);
  if (older.length > 0) {
    const first = Math.min(...older.map(({ seenAt }) => seenAt));
    const names = olderMasters(view, now);
    return { adopt: false, because: "older masters run", older: names, lookAgainInMs: first + quietMs - now };
  }
  // A new fleet has nothing that a master of an earlier version wrote.
  if (view.isEmpty) return { adopt: true };
  const watchedMs = now - watchedSince;
  if (watchedMs < quietMs) {
    return { adopt: false, because: "older masters may run", lookAgainInMs: quietMs - watchedMs };
  }
  if (view.unvouched > 0 && !view.allowed) return { adopt: false, because: "an operator must allow it" };
  return { adopt: true };
}
