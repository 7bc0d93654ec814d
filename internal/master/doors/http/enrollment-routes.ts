import {
  approveEnrollment,
  clearClone,
  labelEnrollment,
  listEnrollments,
  type OperatorEnrollmentDeps,
  rejectEnrollment,
  restoreEnrollment,
  resumeEnrollment,
  revokeEnrollment,
  suspendEnrollment,
} from "../../../fleet/enrollment/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Enrollments" } as const;
const decision = { ...behindToken, method: "POST", show: "enrollment" } as const;
const decided = {
  200: "The enrollment as it is now",
  404: "The enrollment does not exist",
  409: "Its state does not allow this, or other requests are changing it",
  503: "The bus has lost what this master knows, and the master is putting it back",
};

/** The operator's routes to enrollments (specification, "Operator REST API"). */
export function enrollmentRoutes({ bind }: HttpDoor, deps: OperatorEnrollmentDeps): Route[] {
  return [
    bind(listEnrollments, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/enrollments",
      id: "listEnrollments",
      page: "enrollments",
      answers: { 200: "One page of them", 400: "A parameter is malformed", 503: notRead },
    }),
    bind(approveEnrollment, deps, {
      ...decision,
      path: "/api/v1/enrollments/:id/approve",
      id: "approveEnrollment",
      bodyTitle: "Approval",
      answers: {
        ...decided,
        409: "Its state does not allow this, or the peel trusted another CA root",
      },
    }),
    bind(rejectEnrollment, deps, {
      ...decision,
      path: "/api/v1/enrollments/:id/reject",
      id: "rejectEnrollment",
      bodyTitle: "Reason",
      answers: decided,
    }),
    bind(revokeEnrollment, deps, {
      ...decision,
      path: "/api/v1/enrollments/:id/revoke",
      id: "revokeEnrollment",
      bodyTitle: "Reason",
      answers: {
        ...decided,
        503: "The enrollment is revoked; the bus has not confirmed it yet",
      },
    }),
    bind(labelEnrollment, deps, {
      ...decision,
      method: "PUT",
      path: "/api/v1/enrollments/:id/labels",
      id: "labelEnrollment",
      body: "required",
      bodyTitle: "Labels",
      answers: {
        ...decided,
        409: "The labels are not those of `expected`, or its state does not allow this",
      },
    }),
    bind(suspendEnrollment, deps, {
      ...decision,
      path: "/api/v1/enrollments/:id/suspend",
      id: "suspendEnrollment",
      bodyTitle: "Reason",
      answers: {
        ...decided,
        503: "The enrollment is suspended; the bus has not confirmed it yet",
      },
    }),
    bind(resumeEnrollment, deps, {
      ...decision,
      path: "/api/v1/enrollments/:id/resume",
      id: "resumeEnrollment",
      answers: {
        ...decided,
        503: "The enrollment is resumed; the bus has not confirmed it yet",
      },
    }),
    bind(clearClone, deps, {
      ...decision,
      path: "/api/v1/enrollments/:id/clear-clone",
      id: "clearClone",
      answers: decided,
    }),
    bind(restoreEnrollment, deps, {
      ...decision,
      path: "/api/v1/enrollments/:id/restore",
      id: "restoreEnrollment",
      answers: {
        200: "The enrollment as it is again",
        404: "No revision of it is left that a master made",
        409: "It is as a master made it, or its peel has another live enrollment",
        503: decided[503],
      },
    }),
  ];
}
