export { readOperatorFiles } from "./administrators.ts";
export { runMasterDaemon } from "./daemon.ts";
export { inspectEvidence } from "./evidence.ts";
export { loadMasterKeys } from "./keys.ts";
