export { watchFacts } from "./activate.ts";
export type { ApplyDeps } from "./apply.ts";
export { createDirectory, type Directory } from "./directory.ts";
export { createDisconnections } from "./disconnections.ts";
export { dropOldPending } from "./drop-pending.ts";
export { createEnforcer } from "./enforce.ts";
export { watchExcessConnections } from "./excess-connections.ts";
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
  resumeEnrollment,
  revokeEnrollment,
  type SuspendOperationDeps,
  submit,
  suspendEnrollment,
} from "./operations.ts";
export { createPendingTable } from "./pending-table.ts";
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
export { createRevocations, writeRevocation } from "./revocations.ts";
export { findByPeel, loadEnrollment, readEnrollments } from "./store.ts";
export { disconnect, type SuspensionEffects, suspend } from "./suspend.ts";
export { memberStates, transitions } from "./transition.ts";
