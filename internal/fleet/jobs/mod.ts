export { readAlive } from "./alive.ts";
export { untilSettled } from "./await-settled.ts";
export { type Call, decodeCall } from "./call.ts";
export { type CancelDeps, cancelJob } from "./cancel.ts";
export {
  type Command,
  type CommandKind,
  CommandRefused,
  openCommand,
  type RefusalReason,
  refusalReasons,
} from "./command.ts";
export { createJobController, type JobController } from "./controller.ts";
export { type DispatchDeps, dispatchJob } from "./dispatch.ts";
export { readEvents } from "./events.ts";
export { execute, isReadOnly } from "./execute.ts";
export { followJob, type Progress } from "./follow.ts";
export { createJob, getJob, type JobOperationDeps, listJobs, stopJob, streamJob } from "./operations.ts";
export { endings, type JobStatus, jobStatuses, type Outcome, outcomes } from "./outcome.ts";
export type { PeelProgress } from "./progress.ts";
export { decodeJob, decodeReturn, type Job, type JobReturn } from "./record.ts";
export type { JobRequest } from "./request.ts";
export { startScheduleResults } from "./schedule-results.ts";
export { decodeScheduledRun, encodeScheduledRun, maxArgsBytes, type ScheduledRun } from "./scheduled.ts";
export { createCommands } from "./send.ts";
export { type JobView, type SeenReturn, type ShowDeps, showJob } from "./show.ts";
export type { JobSummary } from "./summary.ts";
export { createTally, standingOf } from "./tally.ts";
export { type PlannedJob, placeTombstone } from "./tombstone.ts";
