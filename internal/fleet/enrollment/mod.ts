export { watchFacts } from "./activate.ts";
export { adoptSuccession } from "./adopt-succession.ts";
export type { ApplyDeps } from "./apply.ts";
export { type Challenges, maxMadeChallenges } from "./challenge.ts";
export { type DirectSigner, signerOfDirect, signingVouchers } from "./direct-signature.ts";
export { createDirectory, type Directory, type Member } from "./directory.ts";
export { createDisconnections } from "./disconnections.ts";
export { dropOldPending } from "./drop-pending.ts";
export { endRefused } from "./end-refused.ts";
export { createEnforcer } from "./enforce.ts";
export type { EnrollDeps } from "./enroll.ts";
export { watchExcessConnections } from "./excess-connections.ts";
export { enrollmentOperations } from "./joined.ts";
export { isLabelName, type Labels, labelsField, labelsProblem } from "./labels.ts";
export { maintainExports } from "./maintain-exports.ts";
export { memberNamed } from "./member-named.ts";
export { type ListOpenWays, type OpenWay, wayKinds } from "./open-way.ts";
export type { ChallengeTpmDeps, RevokeOperationDeps, SuspendOperationDeps } from "./operations.ts";
export { createPendingTable } from "./pending-table.ts";
export { provenConnections } from "./proven-connections.ts";
export { createReadings, type Readings, type RecordReading, readRecord } from "./readings.ts";
export {
  type Enrollment,
  type EnrollmentState,
  enrollmentStates,
  fromStored,
  type StoredMap,
  toStored,
} from "./record.ts";
export { recoverableUntil } from "./recover.ts";
export { type RenewDeps, rekey, renew } from "./renew.ts";
export { repairOrphans } from "./repair.ts";
export {
  compareRevocations,
  createRevocations,
  decodeRevocation,
  isOver,
  type Revocation,
  writeRevocation,
} from "./revocations.ts";
export { sealingKeyOf } from "./sealing-key.ts";
export {
  type Enrollments,
  findByPeel,
  indexKey,
  loadEnrollment,
  parseKey,
  readEnrollments,
  readEntry,
  readIndexId,
} from "./store.ts";
export { refuseStrays } from "./strays.ts";
export {
  formatSucceeded,
  newestChange,
  parseSucceeded,
  type Succeeded,
  succeedRecords,
} from "./succeed-records.ts";
export { type EnrollmentSummary, summarize, trustOf } from "./summary.ts";
export { disconnect, type SuspensionEffects, suspend } from "./suspend.ts";
export { createTakeOver } from "./take-over.ts";
export { awaitsRecovery, liveStates, memberStates, transitions } from "./transition.ts";
export { createVouchers, directVouchers, type Vouchers } from "./vouchers.ts";
export { type Admission, type Decide, decisions, type WayIn } from "./way-in.ts";
