export { createGate } from "./gate.ts";
export { hasPlainArgs, readStoredWork } from "./stored-work.ts";
