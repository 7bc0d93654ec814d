import type { Bus } from "../../bus/mod.ts";
import type { InventoryPeel } from "../../fleet/exports/mod.ts";
import { exportOperations } from "../../fleet/exports/mod.ts";
import { allPages } from "../all-pages.ts";
import { ask } from "../ask.ts";

/** Asks the masters for the peels of a target with these facts, sorted by id. @throws SvcError what a master answers */
export function readInventory(bus: Bus, target: string, facts: readonly string[]): Promise<InventoryPeel[]> {
  const asked = { target, facts: [...facts] };
  return allPages((after) => ask(bus, exportOperations.exportInventory, { ...asked, ...after }), "peels");
}
