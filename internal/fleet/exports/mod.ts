export type { InventoryPeel } from "./inventory-peel.ts";
export { type ExportDeps, exportInventory, listPrometheusTargets } from "./operations.ts";
