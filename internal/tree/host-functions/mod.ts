export { accessLevels, type HostAccess } from "./function.ts";
export { openHostFunctions } from "./open.ts";
export { hostFunctionNames } from "./table.ts";
export { splitWords } from "./words.ts";
