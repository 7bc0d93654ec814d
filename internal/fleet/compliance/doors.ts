import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const read = { method: "GET", tag: "States", readsAll: true } as const;
const malformed = "A parameter is malformed";

/** How what the last state runs of peels did is reached. */
export const stateDoors = {
  countStates: {
    rest: {
      ...{ ...read, path: "/api/v1/states/status" },
      answers: { 200: "How many peels are as described", 400: malformed },
    },
    bus: { subject: "svc.admin.states.status" },
  },
  listDrift: {
    rest: {
      ...{ ...read, path: "/api/v1/states/drift", page: "peels" },
      answers: { 200: "One page of them", 400: malformed },
    },
    bus: { subject: "svc.admin.states.drift", page: { usual: 500, max: 1_000 } },
  },
  showStates: {
    rest: {
      ...{ ...read, path: "/api/v1/peels/:id/states", show: "peel" },
      answers: {
        200: "What its last state run did",
        400: malformed,
        404: "The peel is not a member of the fleet",
      },
    },
    bus: { subject: "svc.admin.states.show" },
  },
} as const satisfies Doors<typeof operations>;
