export { type JobStatus, jobStatuses, type Outcome, outcomeOf, outcomes, statusOf } from "./outcome.ts";
export { outcomesOf, placesOf } from "./outcome-places.ts";
export { findOwnJob } from "./own-job.ts";
export { createOwnRecords, type OwnRecords } from "./own-records.ts";
export {
  countsField,
  decodeJob,
  encodeJob,
  type Job,
  type Settled,
  type SignedRequestOf,
  signedRequest,
} from "./record.ts";
export { isGenuineJob, withCancelMac, withJobMac } from "./record-mac.ts";
export { type JobSource, jobSources } from "./source.ts";
export type { JobSummary } from "./summary.ts";
export { type PlannedJob, placeTombstone } from "./tombstone.ts";
