// The door of this room for the programs: one function each.
export { loadMasterConfig, type MasterConfig } from "./master.ts";
export { loadOperatorConfig } from "./operator.ts";
export { loadPeelConfig, type PeelConfig } from "./peel.ts";
export { dataDir } from "./resolve.ts";
