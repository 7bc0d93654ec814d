export { binariesOverBus, serveBinaries } from "./binary.ts";
export { type BusBinding, readReply } from "./bind.ts";
export { decisionsOverBus, serveDecisions } from "./decisions.ts";
export { enrollmentsOverBus, serveEnrollments } from "./enrollment.ts";
export { jobsOverBus, serveJobs } from "./job.ts";
export { reactorOverBus, serveReactor } from "./reactor.ts";
export { rolloutsOverBus, serveRollouts } from "./rollout.ts";
export { serveTargets, targetsOverBus } from "./target.ts";
