export { runWatchdogDaemon } from "./daemon.ts";
