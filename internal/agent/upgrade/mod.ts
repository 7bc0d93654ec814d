export { type StagedUpgrade, upgradeFiles } from "./files.ts";
export { markIn, watchdogVariable } from "./parent.ts";
export { afterEvent, type UpgradeEvent } from "./transition.ts";
export type { Upgrades } from "./upgrade.ts";
export { hasWatchdog, upgradesOfHost } from "./upgrade-host.ts";
export { createUpgradeReturns } from "./upgrade-return.ts";
