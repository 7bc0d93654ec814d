import type { JobView } from "../../fleet/jobs/mod.ts";
import type { Outcome } from "../../fleet/jobs/records/mod.ts";

/** Whether a target has ended, and not well. */
export function hasFailed(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && outcome !== "ok" && outcome !== "pending";
}

/** The targets that ended, and not well, with their answers. The counts and the status stay those of the job. */
export function onlyFailed(view: JobView): JobView {
  const targets = view.targets.filter((peel) => hasFailed(view.outcomes[peel]));
  const wanted = new Set(targets);
  const ofWanted = <T>(all: Record<string, T>) =>
    Object.fromEntries(Object.entries(all).filter(([peel]) => wanted.has(peel)));
  return { ...view, targets, outcomes: ofWanted(view.outcomes), returns: ofWanted(view.returns) };
}
