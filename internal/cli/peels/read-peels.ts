import type { Bus } from "../../bus/connection/mod.ts";
import { maxPeels, peelOperations, type ShownPeel } from "../../fleet/peels/mod.ts";
import { allPages } from "../all-pages.ts";
import { request } from "../request.ts";

/** Asks the masters for all peels of a target, sorted by id. @throws SvcError what a master answers */
export function readPeels(bus: Bus, target: string): Promise<ShownPeel[]> {
  const requested = { target, limit: maxPeels };
  return allPages((after) => request(bus, peelOperations.listPeels, { ...requested, ...after }), "peels");
}
