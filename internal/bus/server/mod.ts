export { carriedServer } from "./carried.ts";
export { isOfCluster, joinCluster, routesOf, serverNameOf } from "./cluster-block.ts";
export {
  linkToBus,
  listenForSites,
  listensForSites,
  sitePortOf,
} from "./leaf-block.ts";
export { moveToCluster } from "./move-to-cluster.ts";
export { freePort, listenAddressOf } from "./port.ts";
export { findServer, systemPath } from "./program.ts";
export { type BusRestarts, type BusServer, startBusServer } from "./supervise.ts";
export { oldestThatSyncs } from "./sync.ts";
