import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How the logs of decisions are reached: each master compares its own, so that none can answer for another. */
export const decisionDoors = {
  verifyDecisions: {
    rest: {
      ...{ method: "GET", path: "/api/v1/decisions", tag: "Masters", readsAll: true },
      answers: { 200: "What the answering master found" },
    },
    bus: { subject: "svc.admin.enroll.decisions-{master}" },
  },
} as const satisfies Doors<typeof operations>;
