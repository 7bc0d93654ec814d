export { watchFacts } from "./activate.ts";
export { adoptSuccession } from "./adopt-succession.ts";
export { dropOldPending } from "./drop-pending.ts";
export { enrollmentOperations } from "./joined.ts";
export { type ListOpenWays, type OpenWay, wayKinds } from "./open-way.ts";
export type { ChallengeTpmDeps, RevokeOperationDeps, SuspendOperationDeps } from "./operations.ts";
export { repairOrphans } from "./repair.ts";
export {
  formatSucceeded,
  newestChange,
  parseSucceeded,
  type Succeeded,
  succeedRecords,
} from "./succeed-records.ts";
