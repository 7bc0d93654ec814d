import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How other tools read the fleet. */
export const exportDoors = {
  listPrometheusTargets: {
    rest: {
      ...{ method: "GET", path: "/api/v1/prometheus/targets", tag: "Peels", show: "targets", readsAll: true },
      answers: { 200: "All of them" },
    },
  },
  exportInventory: {
    rest: {
      ...{ method: "GET", path: "/api/v1/inventory", tag: "Peels", page: "peels", readsAll: true },
      answers: { 200: "One page of them", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.admin.peel.inventory", page: { usual: 1_000, max: 1_000 } },
  },
} as const satisfies Doors<typeof operations>;
