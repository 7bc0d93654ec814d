export {
  assertOwnFleet,
  directoryOf,
  doorsOf,
  type OwnHost,
  readOwnHost,
  writeHost,
} from "./add-hosts.ts";
export {
  dropSiteKeys,
  hasSiteDirectory,
  openOwnForSites,
  siteDirectoryOf,
  siteKeys,
  writeSite,
} from "./add-site.ts";
export { assertNoOther, beginAdding, endAdding } from "./adding.ts";
export { busVersion } from "./bus-version.ts";
export { dropHost, joinOwn } from "./change-own.ts";
export { firstOperator, operatorNameOf } from "./first-operator.ts";
export { initFleet, type Setup } from "./init.ts";
export { initHosts } from "./init-hosts.ts";
export type { Wishes } from "./plan.ts";
export { succeedFleet } from "./succeed.ts";
export { joinDropIn, masterUnit, peelUnit } from "./units.ts";
