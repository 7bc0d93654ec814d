export { type Administrators, createAdministrators } from "./administrators.ts";
export { type CommandKeys, createCommandKeys } from "./command-keys.ts";
export { credentialsExpiry } from "./credentials-expiry.ts";
export { DamagedFile, damagedEvent, readPeelCredentials, reportDamagedFiles } from "./damaged-file.ts";
export { enrollAndStore } from "./enroll-and-store.ts";
export { readEnrollmentId, storeEnrollmentId } from "./enrollment-id.ts";
export { parseObject } from "./events.ts";
export { fetchDocument } from "./fetch-document.ts";
export { findEnrollment } from "./find-enrollment.ts";
export { grantedSite } from "./granted-site.ts";
export {
  enrollAgain,
  type IdentityFiles,
  identityFiles,
  knownPeelId,
  resolvePeelId,
} from "./identity.ts";
export { leaveTwin } from "./instance.ts";
export { type Issued, readIssued } from "./issued.ts";
export { readJoinToken } from "./join-token-source.ts";
export { createKeyRing, type KeyRing } from "./key-ring.ts";
export { createMasterClient, type MasterClient } from "./master-client.ts";
export { acrossRotations, masterUrls, rungOf } from "./master-trust.ts";
export { dropPendingKey, loadPendingKey, readPendingKey } from "./pending-key.ts";
export { planJoin } from "./plan-join.ts";
export { BusKeyRefused, EnrollmentEnded, recoverCredentials } from "./recover.ts";
export { createRecoveryKeys, type RecoveryKeys } from "./recovery-keys.ts";
export { CredentialsGone } from "./refusal.ts";
export { createRefusedStatements, type RefusedStatements } from "./refused-statements.ts";
export { createRoots, type Roots, readRoots } from "./roots.ts";
