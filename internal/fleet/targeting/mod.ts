export { aliveMs } from "./fleet.ts";
export { createFleetIndex, type FleetIndex } from "./fleet-index.ts";
export { targetOperations } from "./joined.ts";
export { createNewConnections } from "./new-connections.ts";
export { followNodeGroups } from "./node-groups.ts";
export type { ResolveDeps } from "./operations.ts";
export { createPace } from "./pace.ts";
export { chosenTarget, oneTarget, resolveFor, type Target, targetFields, targetOf } from "./resolve.ts";
export { createResolver, type Resolver } from "./resolver.ts";
