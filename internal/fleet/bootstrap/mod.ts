export { describeFleet, describeSuccession, type FleetDeps, type SuccessionDeps } from "./operations.ts";
export { clusterInfoKey, startPublisher } from "./publish.ts";
