export { checkSchedule } from "./check.ts";
export { startScheduler } from "./scheduler.ts";
export { createUptime } from "./uptime.ts";
