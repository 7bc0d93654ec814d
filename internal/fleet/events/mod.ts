export { createEventFeed } from "./feed.ts";
export { checkSource, checkTag } from "./input.ts";
export { eventOperations } from "./joined.ts";
export { makeRoomForEvents } from "./make-room.ts";
export { publishApprovals } from "./publish-approvals.ts";
export { publishJobs } from "./publish-jobs.ts";
export { publishRefusals } from "./publish-refusals.ts";
export { publishRollouts, type RolloutTeller } from "./publish-rollouts.ts";
export type { ShownEvent } from "./view.ts";
