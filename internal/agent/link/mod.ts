export { askingAgain } from "./ask.ts";
export { type AuditHeads, openAuditHeads } from "./audit-heads.ts";
export { type Connection, createConnection } from "./connection.ts";
export { type BusSource, builtinBusUrl, findBus } from "./find-bus.ts";
export { followCluster } from "./follow-cluster.ts";
export { type Heartbeat, startHeartbeat } from "./heartbeat.ts";
export { createObstacle, type Obstacle } from "./obstacle.ts";
export { createOutbox, type Outbox } from "./outbox.ts";
export { startRecovery } from "./recover.ts";
