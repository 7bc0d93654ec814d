export { createStateStage } from "./check-states.ts";
export { type MasterStateFiles, startStateFiles } from "./state-files.ts";
