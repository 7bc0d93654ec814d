import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How releases of state files are reached. */
export const releaseDoors = {
  // Not over REST: a caller who has only a token signs nothing.
  releaseStates: { bus: { subject: "svc.admin.states.release" } },
  listReleases: {
    rest: {
      ...{ method: "GET", path: "/api/v1/states/releases", tag: "States", readsAll: true },
      answers: {
        200: "The releases of each environment, and what is published",
        404: "The environment has no such commit",
      },
    },
    bus: { subject: "svc.admin.states.releases" },
  },
  listFiles: {
    rest: {
      ...{ method: "GET", path: "/api/v1/states/files", tag: "States", readsAll: true },
      answers: { 200: "The files of each environment, and what is refused" },
    },
    bus: { subject: "svc.admin.states.files" },
  },
} as const satisfies Doors<typeof operations>;
