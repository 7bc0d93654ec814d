import {
  addHosts,
  type ClusterDeps,
  checkCluster,
  removeHost,
  showCluster,
} from "../../../fleet/cluster/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const common = { auth: "bearer", budget: "relaxed", tag: "Cluster" } as const;
const malformed = "A field is malformed";

/** The operator's routes to the cluster of the bus. */
export function clusterRoutes({ bind }: HttpDoor, deps: ClusterDeps): Route[] {
  return [
    bind(showCluster, deps, {
      ...{ ...common, method: "GET", path: "/api/v1/cluster", id: "showCluster" },
      answers: { 200: "The servers of the bus, and its streams", 503: notRead },
    }),
    bind(checkCluster, deps, {
      ...{ ...common, method: "GET", path: "/api/v1/cluster/check", id: "checkCluster" },
      answers: { 200: "How many streams were compared, and what differs", 503: notRead },
    }),
    bind(addHosts, deps, {
      ...{ ...common, method: "POST", path: "/api/v1/cluster/add", id: "addHosts" },
      answers: {
        200: "They may join",
        400: malformed,
        409: "A server is too old for replicas",
        503: notRead,
      },
    }),
    bind(removeHost, deps, {
      ...{ ...common, method: "POST", path: "/api/v1/cluster/remove", id: "removeHost" },
      answers: {
        200: "What was done, and whether anything is left",
        400: malformed,
        409: "The host runs, or too few others would be left",
        503: notRead,
      },
    }),
  ];
}
