export { type BusContext, busSteps, storageSteps } from "./bus.ts";
export { findOpenSecrets, findUnreadable, findUnwritable } from "./files.ts";
export { judgeClock, judgeCredentials, judgeEnd, soonMs } from "./findings.ts";
export { type Finding, formatSteps, hasFailed, once, type Step, type StepResult, takeSteps } from "./step.ts";
