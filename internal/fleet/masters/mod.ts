export { masterOperations } from "./joined.ts";
export { askMasterReadiness, askReadiness, hasFailed, type MasterReadiness } from "./readiness.ts";
