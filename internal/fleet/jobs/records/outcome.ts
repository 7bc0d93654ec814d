import type { Ending } from "../../../wire/return.ts";

/** The outcome of one target of a job. */
export const outcomes = [
  "pending",
  "ok",
  "failed",
  "busy",
  "offline",
  "timeout",
  "lost",
  "cancelled",
] as const;
export type Outcome = (typeof outcomes)[number];
export const jobStatuses = ["running", "completed", "failed", "cancelled"] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** What is known about one target. */
export interface TargetFacts {
  return?: Ending | undefined;
  acknowledged: boolean;
  /** Whether the peel was alive when the deadline passed. */
  alive: boolean;
}

/**
 * The outcome of one target (decisions, section "Jobs"). A return of the peel decides at any time, even after
 * the deadline or a cancellation. Without one the target is pending until the deadline.
 */
export function outcomeOf(
  facts: TargetFacts,
  job: { deadline: number; cancelledAt?: number },
  now: number,
): Outcome {
  if (facts.return !== undefined) return facts.return.outcome ?? (facts.return.success ? "ok" : "failed");
  // A cancelled job is not sent any longer; peels that accepted it still report how it ended.
  if (job.cancelledAt !== undefined && !facts.acknowledged) return "cancelled";
  if (now < job.deadline) return "pending";
  return facts.acknowledged || facts.alive ? "timeout" : "offline";
}

/** The status of a job from the outcomes of all its targets. */
export function statusOf(outcomes: Iterable<Outcome>, job: { cancelledAt?: number }): JobStatus {
  const seen = new Set(outcomes);
  if (seen.has("pending")) return "running";
  if (seen.size === 0 || (seen.size === 1 && seen.has("ok"))) return "completed";
  return job.cancelledAt === undefined ? "failed" : "cancelled";
}
