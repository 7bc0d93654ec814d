export { type MasterStateFiles, startStateFiles } from "./state-files.ts";
