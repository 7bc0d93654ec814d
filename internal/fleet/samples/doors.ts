import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How the samples are reached. */
export const sampleDoors = {
  readSamples: {
    rest: {
      ...{ method: "GET", path: "/api/v1/samples", tag: "Masters" },
      answers: { 200: "The samples of this period", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.admin.samples.read" },
  },
} as const satisfies Doors<typeof operations>;
