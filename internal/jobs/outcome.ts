import type { JobReturn } from "./record.ts";

/** What became of one target of a job. */
export type Outcome = "pending" | "ok" | "failed" | "offline" | "timeout";
export type JobStatus = "running" | "completed" | "failed";

/** What is known of one target. */
export interface TargetFacts {
  return?: JobReturn;
  acknowledged: boolean;
  alive: boolean;
}

/**
 * The outcome of one target (decisions, section "Jobs"): a return decides at any time; without one
 * the target is pending until the deadline, and then told apart by whether the peel took the job.
 */
export function outcomeOf(facts: TargetFacts, deadline: number, now: number): Outcome {
  if (facts.return !== undefined) return facts.return.success ? "ok" : "failed";
  if (now < deadline) return "pending";
  return facts.acknowledged || facts.alive ? "timeout" : "offline";
}

/** The status of a job from the outcomes of all its targets. */
export function statusOf(outcomes: readonly Outcome[]): JobStatus {
  if (outcomes.includes("pending")) return "running";
  return outcomes.every((outcome) => outcome === "ok") ? "completed" : "failed";
}
