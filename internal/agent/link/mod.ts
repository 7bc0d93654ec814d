export { type Connection, createConnection } from "./connection.ts";
export { type BusSource, builtinBusUrl, findBus } from "./find-bus.ts";
export { followCluster } from "./follow-cluster.ts";
export { type Heartbeat, startHeartbeat } from "./heartbeat.ts";
export { createOutbox, type Outbox } from "./outbox.ts";
export { startRecovery } from "./recover.ts";
