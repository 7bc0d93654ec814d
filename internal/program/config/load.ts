// The entry points of this room: one function for each program.
export { loadMasterConfig, type MasterConfig } from "./master.ts";
export { loadOperatorConfig } from "./operator.ts";
export { loadPeelConfig, type PeelConfig } from "./peel.ts";
export { dataDir } from "./resolve.ts";
