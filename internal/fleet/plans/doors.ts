import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How plans are reached. */
export const planDoors = {
  planStates: { bus: { subject: "svc.admin.states.plan" } },
  showPlan: {
    rest: {
      ...{ method: "GET", path: "/api/v1/plans/:id", tag: "States" },
      answers: { 200: "The plan, or how far it is", 404: "There is no such plan of yours" },
    },
  },
  // Not over REST: a plan is shown whole there.
  fetchPlan: { bus: { subject: "svc.admin.states.plans", bulk: true } },
} as const satisfies Doors<typeof operations>;
