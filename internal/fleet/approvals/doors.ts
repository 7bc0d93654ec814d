import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Approvals";
const noSuch = "The request does not exist";
const decide = {
  method: "POST",
  tag,
  show: "approval",
  readsAll: true,
  answers: { 200: "The request as it is now", 404: noSuch, 409: "It waits no longer" },
} as const;
const hints = { svc: { not_found: "see svc approval list" } };

/** How requests that wait for other operators are reached. */
export const approvalDoors = {
  listApprovals: {
    rest: { method: "GET", path: "/api/v1/approvals", tag, readsAll: true, answers: { 200: "All of them" } },
    bus: { subject: "svc.admin.approval.list" },
  },
  getApproval: {
    rest: {
      ...{ method: "GET", path: "/api/v1/approvals/:id", tag, show: "approval", readsAll: true },
      answers: { 200: "The request", 404: noSuch },
    },
    bus: { subject: "svc.admin.approval.show" },
    hints,
  },
  approveRequest: {
    rest: { ...decide, path: "/api/v1/approvals/:id/approve" },
    bus: { subject: "svc.admin.approval.approve" },
    hints,
  },
  denyRequest: {
    rest: { ...decide, path: "/api/v1/approvals/:id/deny" },
    bus: { subject: "svc.admin.approval.deny" },
    hints,
  },
} as const satisfies Doors<typeof operations>;
