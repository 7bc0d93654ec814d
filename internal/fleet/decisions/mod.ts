export { malformedAdvice } from "./advice.ts";
export { decisionBuckets } from "./decision.ts";
export { decisionOperations } from "./joined.ts";
export { type DecisionLog, openDecisionLog, readDecisionFile } from "./log.ts";
export { createMemoryLog } from "./memory-log.ts";
export { showNewest } from "./operations.ts";
export { judgeWithoutKeys, newestOf } from "./order.ts";
export { startDecisionReconciler } from "./reconciler.ts";
export { readContents, restoreDecisions } from "./restore.ts";
