import type { Bus } from "../../bus/mod.ts";
import { maxPeels, peelOperations, type ShownPeel } from "../../fleet/peels/mod.ts";
import { allPages } from "../all-pages.ts";
import { ask } from "../ask.ts";

/** Asks the masters for all peels of a target, sorted by id. @throws SvcError what a master answers */
export function readPeels(bus: Bus, target: string): Promise<ShownPeel[]> {
  const asked = { target, limit: maxPeels };
  return allPages((after) => ask(bus, peelOperations.listPeels, { ...asked, ...after }), "peels");
}
