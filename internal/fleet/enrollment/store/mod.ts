export { type ApplyDeps, applyEvent } from "./apply.ts";
export { type DirectSigner, digestOfDirect, signerOfDirect, signingVouchers } from "./direct-signature.ts";
export { createDirectory, type Directory, type Member, type Unindexed } from "./directory.ts";
export { lastVouched } from "./last-vouched.ts";
export { memberNamed } from "./member-named.ts";
export { createReadings, mapOf, type Readings, type RecordReading, readRecord } from "./readings.ts";
export type { PendingCount } from "./roll.ts";
export {
  decodeIndex,
  type Enrollments,
  type FoundByPeel,
  findByPeel,
  indexKey,
  insertEnrollment,
  insertRival,
  loadEnrollment,
  parseKey,
  pointIndex,
  readEnrollments,
  readEntry,
  readIndexId,
  removePending,
  saveEnrollment,
  type Versioned,
} from "./store.ts";
export { createVouchers, directVouchers, isVouched, type Vouchers } from "./vouchers.ts";
