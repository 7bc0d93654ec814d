export { openBinaries } from "./binaries.ts";
export { binaryOperations } from "./joined.ts";
export type { BinaryDeps } from "./operations.ts";
