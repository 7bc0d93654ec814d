export { watchFacts } from "./activate.ts";
export type { ApplyDeps } from "./apply.ts";
export { createDirectory, type Directory } from "./directory.ts";
export { createDisconnections } from "./disconnections.ts";
export { createEnforcer } from "./enforce.ts";
export { attestationMessage, credentialsMessage, enrollmentMessage } from "./messages.ts";
export {
  approveEnrollment,
  deliver,
  followState,
  getChallenge,
  getState,
  listEnrollments,
  type OperatorEnrollmentDeps,
  type PeelEnrollmentDeps,
  type RevokeOperationDeps,
  rejectEnrollment,
  revokeEnrollment,
  revokeUserOfBus,
  submit,
} from "./operations.ts";
export {
  decodeRecord,
  type Enrollment,
  type EnrollmentState,
  type EnrollmentSummary,
  enrollmentStates,
  summarize,
  toStored,
  trustOf,
} from "./record.ts";
export { repairOrphans } from "./repair.ts";
export { createRevocations, decodeRevocation, isOver, readStrays, writeRevocation } from "./revocations.ts";
export { findByPeel, indexKey, loadEnrollment, readEnrollments, readIndexId } from "./store.ts";
export { refuseStrays } from "./strays.ts";
export { liveStates, memberStates, transitions } from "./transition.ts";
