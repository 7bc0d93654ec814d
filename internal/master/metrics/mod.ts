export { createMasterMetrics, type MasterMetrics, type MasterView } from "./metrics.ts";
