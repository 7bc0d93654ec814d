export { readAlive } from "./alive.ts";
export { untilSettled } from "./await-settled.ts";
export { type CancelDeps, cancelJob } from "./cancel.ts";
export { createJobController, type JobController } from "./controller.ts";
export { assertFrozen, type DispatchDeps, dispatchJob } from "./dispatch.ts";
export { followJob, type Progress } from "./follow.ts";
export { keepRoomForReturns } from "./make-room.ts";
export {
  createJob,
  getJob,
  type JobOperationDeps,
  listJobs,
  signedOf,
  stopJob,
  streamJob,
} from "./operations.ts";
export { type JobStatus, jobStatuses, type Outcome, outcomes } from "./outcome.ts";
export { findOwnJob } from "./own-job.ts";
export { createOwnRecords } from "./own-records.ts";
export type { PeelProgress } from "./progress.ts";
export { readEvents } from "./read-events.ts";
export { countsField, decodeJob, type Job, type SignedRequestOf, signedRequest } from "./record.ts";
export { isGenuineJob } from "./record-mac.ts";
export { frozenFields, type JobRequest } from "./request.ts";
export { startScheduleResults } from "./schedule-results.ts";
export { createCommands } from "./send.ts";
export { type JobView, type SeenReturn, type ShowDeps, showJob } from "./show.ts";
export { type JobSource, jobSources } from "./source.ts";
export type { JobSummary } from "./summary.ts";
export { createTally, standingOf } from "./tally.ts";
export { type PlannedJob, placeTombstone } from "./tombstone.ts";
