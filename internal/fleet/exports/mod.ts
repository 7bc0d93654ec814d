export type { InventoryPeel } from "./inventory-peel.ts";
export { exportOperations } from "./joined.ts";
