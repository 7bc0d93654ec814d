export { encodeMasterBeat, type MasterKeys, readMasterBeat } from "./heartbeats.ts";
export { masterOperations } from "./joined.ts";
export { hasFailed, type MasterReadiness, requestMasterReadiness, requestReadiness } from "./readiness.ts";
