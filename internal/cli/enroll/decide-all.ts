import { SvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import { NoMaster } from "../request.ts";

/** How many requests are in progress at the same time; the same number of silences in a row ends a run. */
const atOnce = 64;

/** What became of one enrollment. */
export type Outcome<T> =
  | { kind: "done"; enrollment: T }
  /** Other operators must agree. */
  | { kind: "waiting"; waiting: WaitingRequest }
  | { kind: "failed"; error: SvcError };

/** What became of all of them. */
export interface Decisions<T> {
  /** By id; one that is absent was not begun, or its end is not known. */
  outcomes: ReadonlyMap<string, Outcome<T>>;
  /** Why nothing else was begun; absent when all were. */
  stopped?: unknown;
}

/**
 * Decides on many enrollments, a number at a time. What waits for other operators, or is refused, does not keep it
 * from the rest. What has begun is always waited for.
 *
 * @param signal begins nothing new once it aborts
 * @param onOutcome called after each
 */
export async function decideAll<T>(
  ids: readonly string[],
  decide: (id: string) => Promise<T>,
  { signal, onOutcome }: { signal?: AbortSignal; onOutcome?: (outcome: Outcome<T>) => void } = {},
): Promise<Decisions<T>> {
  const outcomes = new Map<string, Outcome<T>>();
  let silences = 0;
  const one = async (id: string) => {
    const outcome = await decide(id).then(
      (enrollment): Outcome<T> => ({ kind: "done", enrollment }),
      (thrown): Outcome<T> => {
        if (thrown instanceof WaitingRequest) return { kind: "waiting", waiting: thrown };
        // The rest would end in the same way.
        if (!(thrown instanceof SvcError) || thrown instanceof NoMaster || thrown.kind === "usage")
          throw thrown;
        return { kind: "failed", error: thrown };
      },
    );
    outcomes.set(id, outcome);
    onOutcome?.(outcome);
    // One master of several may end meanwhile, and what it was asked gets no answer.
    const isSilent = outcome.kind === "failed" && outcome.error.kind === "unavailable";
    silences = isSilent ? silences + 1 : 0;
    if (outcome.kind === "failed" && silences >= atOnce) throw outcome.error;
  };
  try {
    await mapBounded(ids, { atOnce, ...(signal === undefined ? {} : { signal }) }, one);
    return { outcomes };
  } catch (stopped) {
    return { outcomes, stopped };
  }
}
