export { openBinaries } from "./binaries.ts";
export { binaryOperations } from "./joined.ts";
