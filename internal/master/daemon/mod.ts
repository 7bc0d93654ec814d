export { runMasterDaemon } from "./daemon.ts";
export { inspectEvidence } from "./evidence.ts";
