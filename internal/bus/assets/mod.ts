export { restoredMetadata, storesMetadata } from "./asset-version.ts";
export {
  type AssetName,
  assets,
  firstAsset,
  isOnDisk,
  provision,
  provisionOne,
  type Replication,
  replicasFor,
  streamName,
  takesRollups,
} from "./assets.ts";
export { leaveServer, removeFromGroup, setReplicas, untilComplete } from "./change-replicas.ts";
export {
  type Fullness,
  fullest,
  fullnessOf,
  inspectFullness,
  readFullness,
  silentAssets,
} from "./fullness.ts";
export { type AssetReport, inspectConfigs, restoreConfig } from "./guard-assets.ts";
export {
  consumerAdvisories,
  type ForeignConsumer,
  inspectConsumers,
  restoreConsumer,
} from "./guard-consumers.ts";
export { clockDifference, countStored, inspectAssets, maxReplicas } from "./inspect.ts";
export { fittingHistory, keepFewerRevisions } from "./key-history.ts";
export { lintBus } from "./lint-bus.ts";
export { readOffer } from "./offer.ts";
export type { Room } from "./room.ts";
export { type Probed, probeStorage } from "./storage-probe.ts";
