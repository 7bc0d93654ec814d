export { approvalRoutes } from "./approval-routes.ts";
export { auditRoutes } from "./audit-routes.ts";
export { type HttpDoor, httpDoor, routesOf } from "./bind.ts";
export { bootstrapRoutes } from "./bootstrap-routes.ts";
export { clusterRoutes } from "./cluster-routes.ts";
export { createDocs } from "./docs.ts";
export { enrollRoutes } from "./enroll-routes.ts";
export { enrollmentRoutes } from "./enrollment-routes.ts";
export { eventRoutes } from "./event-routes.ts";
export { expectedRoutes } from "./expected-routes.ts";
export { exportRoutes } from "./export-routes.ts";
export { jobRoutes } from "./job-routes.ts";
export { joinTokenRoutes } from "./join-token-routes.ts";
export { type ServedRoute, startListener } from "./listener.ts";
export { masterRoutes } from "./master-routes.ts";
export { operatorRoutes } from "./operator-routes.ts";
export { peelRoutes } from "./peel-routes.ts";
export { policyRoutes } from "./policy-routes.ts";
export { reactorRoutes } from "./reactor-routes.ts";
export { roleRoutes } from "./role-routes.ts";
export { rolloutRoutes } from "./rollout-routes.ts";
export type { Call, Route } from "./route.ts";
export { sessionRoutes } from "./session-routes.ts";
export { settingsRoutes } from "./settings-routes.ts";
export { siteRoutes } from "./site-routes.ts";
export { statesRoutes } from "./states-routes.ts";
export { targetRoutes } from "./target-routes.ts";
export {
  type Bearers,
  type ConsoleSessions,
  rolesByTokenFile,
  rolesOf,
  signIn,
  tokenFiles,
  warnOfTokenFiles,
} from "./tokens.ts";
