export { createRolloutController } from "./controller.ts";
export { createRolloutJobs } from "./jobs.ts";
export { rolloutOperations } from "./joined.ts";
export type { RolloutOperationDeps } from "./operations.ts";
export { cutWaves, parseSize, peelsOf } from "./plan.ts";
export {
  decodeRollout,
  isLive,
  type Rollout,
  rolloutStatuses,
  type WaveCounts,
} from "./record.ts";
export type { RolloutRequest } from "./request.ts";
export {
  loadTargets,
  type RolloutSummary,
  type RolloutView,
  summaryOf,
  type WaveView,
} from "./show.ts";
export type { StartDeps } from "./start.ts";
export { type RolloutTiming, rolloutTiming } from "./timing.ts";
