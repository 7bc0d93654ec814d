export { runPeelDaemon } from "./daemon.ts";
export { qualifiedHostname } from "./hostname.ts";
