export { credentialsExpiry } from "./credentials-expiry.ts";
export { DamagedFile, damagedEvent, readPeelCredentials, reportDamagedFiles } from "./damaged-file.ts";
export { readEnrollmentId, storeEnrollmentId } from "./enrollment-id.ts";
export {
  enrollAgain,
  type IdentityFiles,
  identityFiles,
  knownPeelId,
  loadKey,
  loadOrCreateKey,
  resolvePeelId,
} from "./identity.ts";
export { copiedKey, leaveTwin, settleCopy } from "./instance.ts";
export { createKeyRing, type KeyRing } from "./key-ring.ts";
export { dropPendingKey, loadPendingKey, readPendingKey } from "./pending-key.ts";
