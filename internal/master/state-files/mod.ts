export { startStateFiles } from "./state-files.ts";
