export { carriedServer } from "./carried.ts";
export { findServer, systemPath } from "./program.ts";
export { type BusServer, startBusServer } from "./supervise.ts";
export { oldestThatSyncs } from "./sync.ts";
