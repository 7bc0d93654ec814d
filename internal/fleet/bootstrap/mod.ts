export { bootstrapOperations } from "./joined.ts";
export type { FleetDeps, SuccessionDeps } from "./operations.ts";
export { clusterInfoKey, startPublisher } from "./publish.ts";
