export { encodeMasterBeat, type MasterKeys, readMasterBeat } from "./heartbeats.ts";
export { masterOperations } from "./joined.ts";
export {
  findWaitingMaster,
  hasFailed,
  hasFullDisk,
  type MasterReadiness,
  requestMasterCheck,
  requestMasterReadiness,
  requestReadiness,
} from "./readiness.ts";
