export { bootstrapRoutes } from "./bootstrap-routes.ts";
export { docsRoutes } from "./docs-routes.ts";
export { enrollRoutes } from "./enroll-routes.ts";
export { enrollmentRoutes } from "./enrollment-routes.ts";
export { jobRoutes } from "./job-routes.ts";
export { type ServedRoute, startListener } from "./listener.ts";
export { rolloutRoutes } from "./rollout-routes.ts";
export type { Route } from "./route.ts";
export { warnOfTokenFiles } from "./tokens.ts";
