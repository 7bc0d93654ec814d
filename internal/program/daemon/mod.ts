export { runDaemon } from "./daemon.ts";
