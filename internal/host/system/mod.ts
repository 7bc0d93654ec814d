export { refuseAccountName, refuseField, type UserChange } from "./accounts/manager.ts";
export { accountsOf } from "./accounts/open.ts";
export {
  type Group,
  groupsOfUser,
  localGroups,
  localUsers,
  passwordHash,
  type User,
} from "./accounts/users.ts";
export { type AuthorizedKey, findKey, formatKey, parseKey, withKey, withoutKey } from "./authorized-keys.ts";
export { type CronEntry, type Crontab, parseCrontab, readCrontab, writeCrontab } from "./crontab.ts";
export { fstabEntry, fstabPath, withEntry, withoutEntry } from "./fstab.ts";
export { hostsPath, parseHosts, withHost, withOnlyHosts, withoutHost } from "./hosts-file.ts";
export {
  filesLoading,
  isBuiltIn,
  isLoaded,
  loadFile,
  withModule,
  withoutModule,
} from "./kernel-modules.ts";
export {
  type HostKey,
  hasFingerprint,
  keysOfHost,
  knownName,
  withHostKey,
  withoutHostKeys,
} from "./known-hosts.ts";

export {
  canonicalLocale,
  isSupported,
  langOf,
  localeFile,
  localeListPath,
  parseLocale,
  withLang,
  withLocale,
} from "./locale.ts";
export { formatStanza, replaceStanza, stanzasOf } from "./packages/deb822.ts";
export {
  hasCategory,
  type InstalledPackages,
  type InstallOptions,
  type PackageManager,
  refusePackageName,
  refusePackageVersion,
  refuseSourceName,
  type WantedPackage,
} from "./packages/manager.ts";
export { packagesOf } from "./packages/open.ts";
export { refreshIfDue } from "./packages/refresh.ts";
export {
  formatRepository,
  fulfills,
  overlaps,
  parseRepository,
  type Repository,
  withComponentsOf,
  withoutComponentsOf,
} from "./packages/sources-list.ts";
export { refuseServiceName, type ServiceAction, type ServiceManager } from "./services/manager.ts";
export { servicesOf } from "./services/open.ts";
export { reloadUnits } from "./services/systemd.ts";
export { unitEnablement } from "./services/unit-files.ts";
export {
  configuredValue,
  normalized,
  runningValue,
  setRunningValue,
  sysctlPath,
  withValue,
} from "./sysctl.ts";
export { type System, succeed, systemOf } from "./system.ts";
export { currentZone, setZone, zoneProblem } from "./timezone.ts";
