export { accessLevels, type HostAccess } from "./function.ts";
export { openHostFunctions } from "./open.ts";
