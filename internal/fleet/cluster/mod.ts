export { clusterOperations } from "./joined.ts";
export type { ClusterDeps } from "./operations.ts";
