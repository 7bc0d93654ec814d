import type { Bus } from "../../bus/connection/mod.ts";
import { targetOperations } from "../../fleet/targeting/mod.ts";
import { refuseTarget, withNearestPeel } from "../nobody.ts";
import { request } from "../request.ts";

/** A peel that a target means (encoded id), and whether it is connected. */
export interface ResolvedPeel {
  peel_id: string;
  alive: boolean;
}

/**
 * Asks a master which peels a target selects.
 *
 * @param target an expression, or a list of ids of which those that are not members are left out
 * @throws SvcError `not_found` when it selects none, with the nearest name; the error of the master for the expression
 */
export async function resolvePeels(bus: Bus, target: string | readonly string[]): Promise<ResolvedPeel[]> {
  if (typeof target === "string") return withNearestPeel(bus, target, () => resolve(bus, target));
  return resolve(bus, target);
}

async function resolve(bus: Bus, target: string | readonly string[]): Promise<ResolvedPeel[]> {
  const found: ResolvedPeel[] = [];
  const requested = typeof target === "string" ? { target } : { targets: [...target] };
  for (let after: string | undefined; ; ) {
    const { targets, next } = await request(bus, targetOperations.resolveTarget, { ...requested, after });
    found.push(...targets);
    after = next;
    if (after === undefined) break;
  }
  return found.length > 0 ? found : refuseTarget();
}
