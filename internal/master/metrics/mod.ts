export { createMasterMetrics, type MasterMetrics, type MasterView } from "./metrics.ts";
export type { RotationsView } from "./rotations.ts";
