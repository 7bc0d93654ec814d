import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/mod.ts";
import { targetsOverBus } from "../../fleet/over-bus/mod.ts";
import { ask } from "../ask.ts";
import { hinted } from "../hints.ts";

/** A peel that a target means (encoded id), and whether it is connected. */
export interface ResolvedPeel {
  peel_id: string;
  alive: boolean;
}

/**
 * Asks a master which peels a target selects.
 *
 * @throws SvcError `not_found` when it selects none; the error of the master for the expression
 */
export async function resolvePeels(bus: Bus, target: string): Promise<ResolvedPeel[]> {
  const found: ResolvedPeel[] = [];
  for (let after: string | undefined; ; ) {
    const { targets, next } = await ask(bus, targetsOverBus.resolve, { target, after });
    found.push(...targets);
    after = next;
    if (after === undefined) break;
  }
  if (found.length > 0) return found;
  return hinted("targets.resolve", async () => {
    throw new SvcError("not_found", "no peel matches the target");
  });
}
