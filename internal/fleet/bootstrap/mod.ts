export { describeFleet, describeSuccession, type FleetDeps, type SuccessionDeps } from "./operations.ts";
export { startPublisher } from "./publish.ts";
