import type { Report } from "../../wire/state-report.ts";

/** What the last run of a peel says of it: the first of these that holds, from `never` on to the left. */
export const statuses = ["described", "drifted", "failed", "stale", "never"] as const;
export type ComplianceStatus = (typeof statuses)[number];

/** A run that no longer counts, unless the question says otherwise. */
export const usualStaleMs = 24 * 60 * 60 * 1000;

/** A report as a master knows it. */
export interface KnownRun {
  readonly report: Report;
  /** When the bus stored it, milliseconds since the Unix epoch. */
  readonly storedAt: number;
}

/**
 * When a run began, milliseconds since the Unix epoch. A report is stored after its run: where the clock of the peel is
 * ahead, the time of the bus counts. Where it is behind, the run seems older than it is, and the peel stale too soon.
 */
export function runAt({ report, storedAt }: KnownRun): number {
  return Math.min(Date.parse(report.run_at), storedAt);
}

/**
 * Whether a peel is as described.
 *
 * @param known its last report; `undefined` when there is none
 * @param now milliseconds since the Unix epoch
 * @param staleMs how long a run counts
 */
export function statusOf(known: KnownRun | undefined, now: number, staleMs: number): ComplianceStatus {
  if (known === undefined) return "never";
  if (now - runAt(known) > staleMs) return "stale";
  const { failed, changed, would_change } = known.report;
  if (failed > 0) return "failed";
  return changed + would_change > 0 ? "drifted" : "described";
}
