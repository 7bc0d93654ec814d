import type { approveRequest, denyRequest, listApprovals, showApproval } from "../../fleet/approvals/mod.ts";
import type { listAudit, showAudit, verifyAudit } from "../../fleet/audit/mod.ts";
import type { describeFleet } from "../../fleet/bootstrap/mod.ts";
import type { showCluster } from "../../fleet/cluster/mod.ts";
import type { countStates, listDrift, showStates } from "../../fleet/compliance/mod.ts";
import type {
  approveEnrollment,
  listEnrollments,
  rejectEnrollment,
  revokeEnrollment,
} from "../../fleet/enrollment/mod.ts";
import type { createJob, getJob, listJobs, stopJob } from "../../fleet/jobs/mod.ts";
import type { listMasters } from "../../fleet/masters/mod.ts";
import type { listOperators, showOperator } from "../../fleet/operators/mod.ts";
import type { countFacts, getFacts, listPeels, showPeel } from "../../fleet/peels/mod.ts";
import type { listRules, resetBreakers, showStatus, testEvent } from "../../fleet/reactor/mod.ts";
import type { mayDo, showRoles } from "../../fleet/roles/mod.ts";
import type {
  abort as abortRollout,
  list as listRollouts,
  pause as pauseRollout,
  resume as resumeRollout,
  show as showRollout,
  start as startRollout,
} from "../../fleet/rollout/mod.ts";
import type { showSettings } from "../../fleet/settings/mod.ts";
import type { resolveTarget } from "../../fleet/targeting/mod.ts";
import { tokenDoors } from "../../fleet/tokens/doors.ts";
import type { tokenOperations } from "../../fleet/tokens/mod.ts";
import { field, routesOf, whole } from "./route.ts";

/** The routes that the console uses, with the types of their operations: a change of one does not compile here. */
export const routes = {
  listPeels: field<typeof listPeels, "peels">({
    operation: "peels.list",
    method: "GET",
    path: "/api/v1/peels",
  }),
  showPeel: field<typeof showPeel, "peel">({
    operation: "peels.show",
    method: "GET",
    path: "/api/v1/peels/:id",
  }),
  getFacts: field<typeof getFacts, "value">({
    operation: "facts.get",
    method: "GET",
    path: "/api/v1/peels/:id/facts",
  }),
  countFacts: whole<typeof countFacts>({
    operation: "facts.count",
    method: "GET",
    path: "/api/v1/facts/count",
  }),
  showSettings: field<typeof showSettings, "value">({
    operation: "settings.show",
    method: "GET",
    path: "/api/v1/peels/:id/settings",
  }),
  showStates: field<typeof showStates, "peel">({
    operation: "states.show",
    method: "GET",
    path: "/api/v1/peels/:id/states",
  }),
  countStates: whole<typeof countStates>({
    operation: "states.status",
    method: "GET",
    path: "/api/v1/states/status",
  }),
  listEnrollments: field<typeof listEnrollments, "enrollments">({
    operation: "enrollments.list",
    method: "GET",
    path: "/api/v1/enrollments",
  }),
  approveEnrollment: field<typeof approveEnrollment, "enrollment">({
    operation: "enrollments.approve",
    method: "POST",
    path: "/api/v1/enrollments/:id/approve",
  }),
  rejectEnrollment: field<typeof rejectEnrollment, "enrollment">({
    operation: "enrollments.reject",
    method: "POST",
    path: "/api/v1/enrollments/:id/reject",
  }),
  revokeEnrollment: field<typeof revokeEnrollment, "enrollment">({
    operation: "enrollments.revoke",
    method: "POST",
    path: "/api/v1/enrollments/:id/revoke",
  }),
  listJobs: field<typeof listJobs, "jobs">({
    operation: "jobs.list",
    method: "GET",
    path: "/api/v1/jobs",
  }),
  createJob: whole<typeof createJob>({
    operation: "jobs.create",
    method: "POST",
    path: "/api/v1/jobs",
  }),
  showJob: field<typeof getJob, "job">({
    operation: "jobs.show",
    method: "GET",
    path: "/api/v1/jobs/:jid",
  }),
  cancelJob: field<typeof stopJob, "view">({
    operation: "jobs.cancel",
    method: "POST",
    path: "/api/v1/jobs/:jid/cancel",
  }),
  resolveTarget: whole<typeof resolveTarget>({
    operation: "targets.resolve",
    method: "GET",
    path: "/api/v1/targets",
  }),
  describeFleet: field<typeof describeFleet, "document">({
    operation: "fleet.describe",
    method: "GET",
    path: "/api/v1/enroll/ca",
  }),
  listRollouts: field<typeof listRollouts, "rollouts">({
    operation: "rollouts.list",
    method: "GET",
    path: "/api/v1/rollouts",
  }),
  showRollout: field<typeof showRollout, "view">({
    operation: "rollouts.show",
    method: "GET",
    path: "/api/v1/rollouts/:id",
  }),
  startRollout: whole<typeof startRollout>({
    operation: "rollouts.start",
    method: "POST",
    path: "/api/v1/rollouts",
  }),
  pauseRollout: field<typeof pauseRollout, "view">({
    operation: "rollouts.pause",
    method: "POST",
    path: "/api/v1/rollouts/:id/pause",
  }),
  resumeRollout: field<typeof resumeRollout, "view">({
    operation: "rollouts.resume",
    method: "POST",
    path: "/api/v1/rollouts/:id/resume",
  }),
  abortRollout: field<typeof abortRollout, "view">({
    operation: "rollouts.abort",
    method: "POST",
    path: "/api/v1/rollouts/:id/abort",
  }),
  listApprovals: whole<typeof listApprovals>({
    operation: "approvals.list",
    method: "GET",
    path: "/api/v1/approvals",
  }),
  listDrift: field<typeof listDrift, "peels">({
    operation: "states.drift",
    method: "GET",
    path: "/api/v1/states/drift",
  }),
  showApproval: field<typeof showApproval, "approval">({
    operation: "approvals.show",
    method: "GET",
    path: "/api/v1/approvals/:id",
  }),
  approveRequest: field<typeof approveRequest, "approval">({
    operation: "approvals.approve",
    method: "POST",
    path: "/api/v1/approvals/:id/approve",
  }),
  denyRequest: field<typeof denyRequest, "approval">({
    operation: "approvals.deny",
    method: "POST",
    path: "/api/v1/approvals/:id/deny",
  }),
  listAudit: field<typeof listAudit, "entries">({
    operation: "audit.list",
    method: "GET",
    path: "/api/v1/audit",
  }),
  verifyAudit: whole<typeof verifyAudit>({
    operation: "audit.verify",
    method: "GET",
    path: "/api/v1/audit/chain",
  }),
  showAudit: field<typeof showAudit, "entry">({
    operation: "audit.show",
    method: "GET",
    path: "/api/v1/audit/:seq",
  }),
  listOperators: whole<typeof listOperators>({
    operation: "operators.list",
    method: "GET",
    path: "/api/v1/operators",
  }),
  showOperator: whole<typeof showOperator>({
    operation: "operators.show",
    method: "GET",
    path: "/api/v1/operators/:name",
  }),
  showRoles: whole<typeof showRoles>({
    operation: "roles.show",
    method: "GET",
    path: "/api/v1/roles",
  }),
  mayDo: whole<typeof mayDo>({
    operation: "roles.can",
    method: "POST",
    path: "/api/v1/roles/can",
  }),
  ...routesOf<typeof tokenOperations>(tokenDoors),
  showCluster: whole<typeof showCluster>({
    operation: "cluster.status",
    method: "GET",
    path: "/api/v1/cluster",
  }),
  listMasters: whole<typeof listMasters>({
    operation: "masters.list",
    method: "GET",
    path: "/api/v1/masters",
  }),
  showReactor: whole<typeof showStatus>({
    operation: "reactor.status",
    method: "GET",
    path: "/api/v1/reactor",
  }),
  listReactorRules: whole<typeof listRules>({
    operation: "reactor.rules",
    method: "GET",
    path: "/api/v1/reactor/rules",
  }),
  resetBreakers: whole<typeof resetBreakers>({
    operation: "reactor.reset",
    method: "POST",
    path: "/api/v1/reactor/reset",
  }),
  testEvent: whole<typeof testEvent>({
    operation: "reactor.test",
    method: "POST",
    path: "/api/v1/reactor/test",
  }),
} as const;
