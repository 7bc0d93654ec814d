export { listMasters, type MastersDeps, type ProbeDeps, probeStorage } from "./operations.ts";
export { askMasterReadiness, askReadiness, hasFailed, type MasterReadiness } from "./readiness.ts";
