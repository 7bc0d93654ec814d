import {
  type ApprovalDeps,
  approveRequest,
  denyRequest,
  listApprovals,
  showApproval,
} from "../../../fleet/approvals/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Approvals" } as const;
const noSuch = "The request does not exist";

/** The operator's routes to requests that wait for other operators. */
export function approvalRoutes({ bind }: HttpDoor, deps: ApprovalDeps): Route[] {
  const decide = {
    ...behindToken,
    method: "POST",
    show: "approval",
    answers: { 200: "The request as it is now", 404: noSuch, 409: "It waits no longer", 503: notRead },
  } as const;
  return [
    bind(listApprovals, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/approvals",
      id: "listApprovals",
      answers: { 200: "All of them", 503: notRead },
    }),
    bind(showApproval, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/approvals/:id",
      id: "getApproval",
      show: "approval",
      answers: { 200: "The request", 404: noSuch, 503: notRead },
    }),
    bind(approveRequest, deps, { ...decide, path: "/api/v1/approvals/:id/approve", id: "approveRequest" }),
    bind(denyRequest, deps, { ...decide, path: "/api/v1/approvals/:id/deny", id: "denyRequest" }),
  ];
}
