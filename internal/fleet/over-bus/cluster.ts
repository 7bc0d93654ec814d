import { adminQueue, type ClusterAction, clusterSubject } from "../../bus/mod.ts";
import { addHosts, type ClusterDeps, checkCluster, removeHost, showCluster } from "../cluster/mod.ts";
import { addSite, removeSite, type SiteDeps } from "../sites/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: ClusterAction) => ({ subject: clusterSubject(action), queue: adminQueue });

export const clusterOverBus = {
  status: overBus({ operation: showCluster, ...at("status") }),
  check: overBus({ operation: checkCluster, ...at("check") }),
  add: overBus({ operation: addHosts, ...at("add") }),
  remove: overBus({ operation: removeHost, ...at("remove") }),
  addSite: overBus({ operation: addSite, ...at("add-site") }),
  removeSite: overBus({ operation: removeSite, ...at("remove-site") }),
};

/** Serves what operators ask about the cluster of the bus and its sites. */
export function serveCluster(door: BusDoor, deps: ClusterDeps, sites: SiteDeps): void {
  serve(door, clusterOverBus.status, deps);
  serve(door, clusterOverBus.check, deps);
  serve(door, clusterOverBus.add, deps);
  serve(door, clusterOverBus.remove, deps);
  serve(door, clusterOverBus.addSite, sites);
  serve(door, clusterOverBus.removeSite, sites);
}
