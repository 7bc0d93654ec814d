import { adminQueue, type Bus, peelsSubject } from "../../bus/mod.ts";
import { type ExportDeps, exportInventory } from "../exports/mod.ts";
import { mostPeels } from "../peels/mod.ts";
import { answerBytes } from "./answer-bytes.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

export const exportsOverBus = {
  inventory: overBus({
    operation: exportInventory,
    subject: peelsSubject("inventory"),
    queue: adminQueue,
    page: { usual: mostPeels, max: mostPeels },
  }),
};

/** Serves the fleet as inventories need it; a page that is too large for a message is cut. */
export function serveExports(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  deps: ExportDeps,
): void {
  serve(door, exportsOverBus.inventory, { ...deps, answerBytes: () => answerBytes(door.bus) });
}
