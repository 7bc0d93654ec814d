import type { ShownContent } from "../../../wire/content.ts";
import type { JobStatus, Outcome } from "./outcome.ts";
import type { JobSource } from "./source.ts";

/** A job as lists show it. */
export interface JobSummary {
  jid: string;
  function: string;
  /** The beginning of its arguments, for people. */
  args_text?: string;
  target?: string;
  schedule?: string;
  /** What made it. */
  source?: JobSource;
  /** Number of target peels. */
  targets: number;
  status: JobStatus;
  counts: Partial<Record<Outcome, number>>;
  created_at: string;
  created_by: string;
  finished_at?: string;
  /** The files that it was accepted for. */
  content?: ShownContent;
  /** Of a job that runs. */
  deadline?: string;
  /** Of a row that stands for all runs of a schedule: how many there are, and how many did not end well. */
  runs?: number;
  failed_runs?: number;
}
