export { openStateFiles, type StateFiles } from "./state-files.ts";
