export { formatStanza, replaceStanza, stanzasOf } from "./deb822.ts";
export {
  hasCategory,
  type InstalledPackages,
  type InstallOptions,
  type PackageManager,
  refusePackageName,
  refusePackageVersion,
  refuseSourceName,
  type WantedPackage,
} from "./manager.ts";
export { packagesOf } from "./open.ts";
export { refreshIfDue } from "./refresh.ts";
export {
  formatRepository,
  fulfills,
  overlaps,
  parseRepository,
  type Repository,
  withComponentsOf,
  withoutComponentsOf,
} from "./sources-list.ts";
