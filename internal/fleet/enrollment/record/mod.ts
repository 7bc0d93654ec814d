export { busKeysOf, withBusKey } from "./bus-keys.ts";
export { formerFrom, labelsOnApproval } from "./former.ts";
export { isLabelName, isSameSet, type Labels, labelsField, labelsProblem } from "./labels.ts";
export {
  type BusKey,
  decodeMap,
  decodeRecord,
  type Enrollment,
  type EnrollmentState,
  type Evidence,
  encodeRecord,
  enrollmentSchema,
  enrollmentStates,
  fromStored,
  type StoredMap,
  toStored,
} from "./record.ts";
export { renewsTooOften } from "./renewal-limit.ts";
export { sealingKeyOf } from "./sealing-key.ts";
export {
  type EnrollmentSummary,
  enrollmentSummary,
  type KnownEnrollment,
  readSummary,
  summarize,
  trustOf,
  trustWords,
} from "./summary.ts";
export {
  awaitsRecovery,
  type EnrollmentEvent,
  isStreamTerminal,
  liveStates,
  memberStates,
  transition,
  transitions,
} from "./transition.ts";
