import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How plans are reached. */
export const planDoors = {
  // Not over REST: its chunks are not, and sendPlan takes a whole tree.
  planStates: { bus: { subject: "svc.admin.states.plan" } },
  sendPlan: {
    rest: {
      ...{ method: "POST", path: "/api/v1/plans", tag: "States" },
      raw: {
        ...{ field: "archive", types: ["application/x-tar"] },
        ...{ maxBytes: 64 * 1024 * 1024, readMs: 5 * 60_000 },
      },
      answers: {
        202: "The plan is being made: Location names it",
        400: "A parameter is malformed, or the body is not an archive",
        404: "The environment or the commit does not exist",
      },
      headers: { Location: "Path of the plan" },
    },
  },
  showPlan: {
    rest: {
      ...{ method: "GET", path: "/api/v1/plans/:id", tag: "States" },
      answers: { 200: "The plan, or how far it is", 404: "You have made no such plan" },
    },
  },
  // Not over REST: a plan is shown whole there.
  fetchPlan: { bus: { subject: "svc.admin.states.plans" } },
} as const satisfies Doors<typeof operations>;
