export {
  crossings,
  exportsOfMasters,
  fromSiteSubject,
  type Origin,
  originOf,
  relaySubject,
  toSiteSubject,
} from "./exports-imports.ts";
export { newGroupUser } from "./group-user.ts";
export { type Audience, initNatsAuth, newNatsAuth } from "./init.ts";
export {
  type AccountKeyFiles,
  addNextKey,
  type CommandKeyFiles,
  type FleetKey,
  fleetKeys,
  isFinishInterrupted,
  keyFile,
  type ReplaceableKey,
  readAccountKeys,
  readCommandKeys,
  readKeySlot,
  replaceableKeys,
  replaceKey,
  type SettingsKeyFiles,
} from "./key-files.ts";
export { lintCredentials } from "./lint.ts";
export { encodeSystemAccount, type SystemSites } from "./operator.ts";
export { encodeOperatorUser, operatorInboxPrefix, operatorScope } from "./operator-users.ts";
export { operatorsSeedFile, readOperatorsKey } from "./operators-key.ts";
export { encodePeelsAccount } from "./peels-account.ts";
export { formatServerConfig } from "./server-config.ts";
export { encodeSiteAccount, newSite } from "./site-account.ts";
export { lackingGrants, newCredentials } from "./users.ts";
