import type { Bus } from "../../bus/connection/mod.ts";
import { exportOperations, type InventoryPeel } from "../../fleet/exports/mod.ts";
import { allPages } from "../all-pages.ts";
import { request } from "../request.ts";

/** Asks the masters for the peels of a target with these facts, sorted by id. @throws SvcError what a master answers */
export function readInventory(bus: Bus, target: string, facts: readonly string[]): Promise<InventoryPeel[]> {
  const requested = { target, facts: [...facts] };
  return allPages(
    (after) => request(bus, exportOperations.exportInventory, { ...requested, ...after }),
    "peels",
  );
}
