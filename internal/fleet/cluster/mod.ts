export { addHosts, type ClusterDeps, checkCluster, removeHost, showCluster } from "./operations.ts";
