export { type BusContext, busSteps, judgeServers, storageSteps } from "./bus.ts";
export { checkCommand, quietLog, showSteps } from "./check-command.ts";
export { findOpenSecrets, findUnreadable, findUnwritable } from "./files.ts";
export { judgeClock, judgeCredentials, judgeEnd, soonMs } from "./findings.ts";
export { type Finding, once, type Step, type StepResult, takeSteps } from "./step.ts";
export { tracesStep } from "./traces.ts";
