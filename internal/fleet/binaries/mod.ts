export { openBinaries } from "./binaries.ts";
export { type BinaryDeps, commitBinary, putChunk } from "./operations.ts";
