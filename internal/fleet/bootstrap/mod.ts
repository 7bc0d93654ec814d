export { describeFleet, type FleetDeps } from "./operations.ts";
export { startPublisher } from "./publish.ts";
