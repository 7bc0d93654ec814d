export { createEventFeed } from "./feed.ts";
export { checkSource, checkTag } from "./input.ts";
export { eventOperations } from "./joined.ts";
export { keepRoomForEvents } from "./make-room.ts";
export { tellApprovals } from "./tell-approvals.ts";
export { tellJobs } from "./tell-jobs.ts";
export { type RolloutTeller, tellRollouts } from "./tell-rollouts.ts";
export type { ShownEvent } from "./view.ts";
