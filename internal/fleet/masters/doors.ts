import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How the masters themselves are reached. */
export const masterDoors = {
  listMasters: {
    rest: {
      ...{ method: "GET", path: "/api/v1/masters", tag: "Masters", readsAll: true },
      answers: { 200: "The masters, and who holds which lease" },
    },
    bus: { subject: "svc.admin.master.list" },
  },
  probeStorage: {
    rest: {
      ...{ method: "GET", path: "/api/v1/masters/probe", tag: "Masters" },
      answers: { 200: "What the storage took and returned" },
    },
    bus: { subject: "svc.admin.master.probe" },
  },
} as const satisfies Doors<typeof operations>;
