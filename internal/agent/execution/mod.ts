export { createCounts, type PeelCounts } from "./counts.ts";
export { type Acceptance, type Dedup, openDedup } from "./dedup.ts";
export { createExecutor, type Executor } from "./executor.ts";
export { reportOutput } from "./report-output.ts";
export { reportProgress } from "./report-progress.ts";
export { busyReturn, failedReturn, fittingReturn } from "./return.ts";
export { startStartupStates } from "./startup-states.ts";
export { createPeelStates, statesLockFile, templateOptions } from "./states.ts";
export { createUnconfirmed } from "./unconfirmed.ts";
