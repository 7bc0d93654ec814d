import { adminQueue, type ClusterAction, clusterSubject } from "../../bus/mod.ts";
import { addHosts, type ClusterDeps, checkCluster, removeHost, showCluster } from "../cluster/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: ClusterAction) => ({ subject: clusterSubject(action), queue: adminQueue });

export const clusterOverBus = {
  status: overBus({ operation: showCluster, ...at("status") }),
  check: overBus({ operation: checkCluster, ...at("check") }),
  add: overBus({ operation: addHosts, ...at("add") }),
  remove: overBus({ operation: removeHost, ...at("remove") }),
};

/** Serves what operators ask about the cluster of the bus. */
export function serveCluster(door: BusDoor, deps: ClusterDeps): void {
  serve(door, clusterOverBus.status, deps);
  serve(door, clusterOverBus.check, deps);
  serve(door, clusterOverBus.add, deps);
  serve(door, clusterOverBus.remove, deps);
}
