export { notifyOfClone, notifyOfCopy } from "./clone.ts";
export { isComplianceEvent, notifyOfCompliance, readCompliance } from "./compliance.ts";
export { type DropCause, dropCauses } from "./drop.ts";
export {
  type Event,
  enrollmentTag,
  isReport,
  isServiceTag,
  masterSource,
  maxTagLength,
  maxTagSegments,
  tagOf,
} from "./event.ts";
export { createJobLookup, depthOf, type JobOf } from "./job-lookup.ts";
export { followPresence } from "./presence.ts";
export { type Reading, readEnrollment, readEvent, readReturn, readScheduled } from "./read-event.ts";
export { notifyOfSuspension } from "./suspended.ts";
export { eventPath, valueAt } from "./value.ts";
