import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Cluster";
const malformed = "A field is malformed";

/** How the cluster of the bus is reached. */
export const clusterDoors = {
  showCluster: {
    rest: {
      ...{ method: "GET", path: "/api/v1/cluster", tag, readsAll: true },
      answers: { 200: "The servers of the bus, and its streams" },
    },
    bus: { subject: "svc.admin.cluster.status" },
  },
  checkCluster: {
    rest: {
      ...{ method: "GET", path: "/api/v1/cluster/check", tag, readsAll: true },
      answers: { 200: "How many streams were compared, and what differs" },
    },
    bus: { subject: "svc.admin.cluster.check" },
  },
  lintBus: {
    rest: {
      ...{ method: "GET", path: "/api/v1/cluster/lint", tag },
      answers: { 200: "What differs, and the consumers that no master made" },
    },
    bus: { subject: "svc.admin.cluster.lint" },
  },
  // Not over REST: what is removed from the bus is decided by operators whose requests are signed.
  removeForeign: { bus: { subject: "svc.admin.cluster.remove-foreign" } },
  addHosts: {
    rest: {
      ...{ method: "POST", path: "/api/v1/cluster/add", tag, readsAll: true },
      answers: { 200: "They may join", 400: malformed, 409: "A server is too old for replicas" },
    },
    bus: { subject: "svc.admin.cluster.add" },
  },
  removeHost: {
    rest: {
      ...{ method: "POST", path: "/api/v1/cluster/remove", tag, readsAll: true },
      answers: {
        200: "What was done, and whether anything is left",
        400: malformed,
        409: "The host runs, or too few others would be left",
      },
    },
    bus: { subject: "svc.admin.cluster.remove" },
  },
} as const satisfies Doors<typeof operations>;
