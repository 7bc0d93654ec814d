export { trustedByMaster } from "./bus-roots.ts";
export { watchBusServers } from "./bus-servers.ts";
export { startEmbeddedBus } from "./embedded-bus.ts";
