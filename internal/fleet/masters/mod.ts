export { type HeldLease, type MasterBeat, readLeases, readMasters } from "./heartbeats.ts";
export { masterOperations } from "./joined.ts";
export { askReadiness, hasFailed, type MasterReadiness } from "./readiness.ts";
