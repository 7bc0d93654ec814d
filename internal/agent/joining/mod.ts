export { type CommandKeys, createCommandKeys } from "./command-keys.ts";
export { credentialsExpiry } from "./credentials-expiry.ts";
export { enrollPeel } from "./enroll.ts";
export { parseObject } from "./events.ts";
export { fetchDocument } from "./fetch-document.ts";
export {
  type IdentityFiles,
  identityFiles,
  knownPeelId,
  loadOrCreateKey,
  resolvePeelId,
} from "./identity.ts";
export { createMasterClient, type MasterClient } from "./master-client.ts";
export { masterUrls, rungOf } from "./master-trust.ts";
