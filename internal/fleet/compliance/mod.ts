export { countStatuses } from "./count.ts";
export { stateOperations } from "./joined.ts";
export { maxDrifting } from "./operations.ts";
export type { DriftedPeel, PeelStates } from "./shown-peel.ts";
export { lastRun, type ShownRun, shownCommit, shownRun } from "./shown-run.ts";
export { parseStale } from "./stale.ts";
export { type ComplianceStatus, statuses, statusOf, usualStaleMs } from "./status.ts";
export { type ComplianceView, followCompliance } from "./view.ts";
