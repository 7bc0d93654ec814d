export { createGate, type GateDeps } from "./gate.ts";
export { hasPlainArgs, readStoredWork } from "./stored-work.ts";
