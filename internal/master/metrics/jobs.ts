import type { MetricsRegistry } from "../../program/health/mod.ts";
import { longBuckets, quickBuckets } from "./buckets.ts";

export interface JobsView {
  jobsRunning?(): number;
}

export interface JobMetrics {
  /** Time from an operator's request for a job to its last command handed to the bus, seconds. */
  jobDispatched(seconds: number): void;
  /** Time from the creation of a job that this master dispatched to one return, seconds. */
  jobReturned(seconds: number): void;
  /** This master wrote the result of a job, or updated it because of returns that it had not seen. */
  jobSettled(job: { status: string; counts: Counts }, before: { counts: Counts } | undefined): void;
  /**
   * A peel's schedule sent a result: it was stored as a job, was a repeat, was refused, or was beyond
   * the budget of the peel.
   */
  scheduleResult(result: "stored" | "repeated" | "refused" | "dropped"): void;
}

/** Targets of a job by outcome. */
type Counts = Readonly<Record<string, number | undefined>>;

/** Adds the metrics of jobs, and of the results of schedules, which are stored as jobs. */
export function countJobs(
  { counter, gauge, histogram }: Pick<MetricsRegistry, "counter" | "gauge" | "histogram">,
  view: () => JobsView,
): JobMetrics {
  gauge("svc_jobs_running", "Jobs that have not ended", () => view().jobsRunning?.());
  const dispatched = histogram(
    "svc_job_dispatch_seconds",
    "Time from the request for a job until every command was handed to the bus",
    [],
    quickBuckets,
  );
  const returned = histogram(
    "svc_job_return_seconds",
    "Time from the creation of a job to the return of a target, on the master that dispatched it",
    [],
    longBuckets,
  );
  const jobs = counter("svc_jobs_total", "Jobs whose result this master wrote, by status", ["status"]);
  const targets = counter(
    "svc_job_targets_total",
    "Targets of jobs whose result this master wrote, by outcome; a late return changes none",
    ["outcome"],
  );
  const scheduled = counter("svc_schedule_results_total", "Results of the schedules of peels, by result", [
    "result",
  ]);
  for (const status of ["completed", "failed", "cancelled"]) jobs.inc({ status }, 0);
  for (const outcome of ["ok", "failed", "busy", "offline", "timeout", "lost", "cancelled"]) {
    targets.inc({ outcome }, 0);
  }
  for (const result of ["stored", "repeated", "refused", "dropped"]) scheduled.inc({ result }, 0);
  return {
    jobDispatched: (seconds) => dispatched.observe(seconds),
    jobReturned: (seconds) => returned.observe(seconds),
    jobSettled({ status, counts }, before) {
      if (before === undefined) jobs.inc({ status });
      for (const [outcome, count = 0] of Object.entries(counts)) {
        targets.inc({ outcome }, Math.max(0, count - (before?.counts[outcome] ?? 0)));
      }
    },
    scheduleResult: (result) => scheduled.inc({ result }),
  };
}
