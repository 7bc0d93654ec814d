export { accessLevels, type HostAccess } from "./function.ts";
export { openHostFunctions } from "./open.ts";
export { splitWords } from "./words.ts";
