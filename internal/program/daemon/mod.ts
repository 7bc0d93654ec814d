export { runDaemon } from "./daemon.ts";
export { type Rest, restAfterWork } from "./rest.ts";
