import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Enrollments";

/** How what admits hosts is reached. */
export const policyDoors = {
  explainWays: {
    rest: {
      ...{ method: "GET", path: "/api/v1/enroll-ways", tag, readsAll: true },
      answers: { 200: "All of them, as this master sees them" },
    },
    bus: { subject: "svc.admin.enroll.ways" },
  },
  testPolicy: {
    rest: {
      ...{
        method: "POST",
        path: "/api/v1/enroll-policy/test",
        tag,
        body: "required",
        bodyTitle: "Applicant",
      },
      answers: { 200: "Which rule decides, and why" },
    },
    bus: { subject: "svc.admin.enroll.policy-test" },
  },
} as const satisfies Doors<typeof operations>;
