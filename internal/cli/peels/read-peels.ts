import type { Bus } from "../../bus/mod.ts";
import { peelsOverBus } from "../../fleet/over-bus/mod.ts";
import { mostPeels, type ShownPeel } from "../../fleet/peels/mod.ts";
import { ask } from "../ask.ts";

/** Asks the masters for all peels of a target, sorted by id. @throws SvcError what a master answers */
export async function readPeels(bus: Bus, target: string): Promise<ShownPeel[]> {
  const found: ShownPeel[] = [];
  for (let cursor: string | undefined; ; ) {
    const after = cursor === undefined ? {} : { cursor };
    const { peels, next } = await ask(bus, peelsOverBus.list, { target, limit: mostPeels, ...after });
    found.push(...peels);
    if (next === undefined) return found;
    cursor = next;
  }
}
