import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How what depends on keys of the fleet is reached. */
export const keyDoors = {
  listDependents: {
    rest: {
      ...{ method: "GET", path: "/api/v1/keys/dependents", tag: "Masters" },
      answers: { 200: "What depends on it", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.admin.key.dependents" },
  },
} as const satisfies Doors<typeof operations>;
