export { accessLevels, type HostAccess, type HostFunction } from "./function.ts";
export { openHostFunctions } from "./open.ts";
export { hostFunctions } from "./table.ts";
