export { readOperatorFiles } from "./administrators.ts";
export { runMasterDaemon } from "./daemon.ts";
export { loadMasterKeys } from "./keys.ts";
