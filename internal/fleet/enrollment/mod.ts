export { watchFacts } from "./activate.ts";
export { startAdoption } from "./adopt.ts";
export type { ApplyDeps } from "./apply.ts";
export { createDirectory, type Directory } from "./directory.ts";
export { createDisconnections } from "./disconnections.ts";
export { createEnforcer } from "./enforce.ts";
export { attestationMessage, credentialsMessage, enrollmentMessage } from "./messages.ts";
export {
  approveEnrollment,
  deliver,
  discardEnrollment,
  followState,
  getChallenge,
  getState,
  listEnrollments,
  type OperatorEnrollmentDeps,
  type PeelEnrollmentDeps,
  type RevokeOperationDeps,
  rejectEnrollment,
  restoreEnrollment,
  revokeEnrollment,
  submit,
  vouchEnrollments,
} from "./operations.ts";
export {
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
export { sealingKeyOf } from "./sealing-key.ts";
export { type Enrollments, findByPeel, loadEnrollment, readEnrollments, readEntry } from "./store.ts";
export { createTakeOver } from "./take-over.ts";
export { memberStates, transitions } from "./transition.ts";
export { createVouchers, directVouchers, type Vouchers } from "./vouchers.ts";
