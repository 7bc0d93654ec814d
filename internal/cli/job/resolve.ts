import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { targetOperations } from "../../fleet/targeting/mod.ts";
import { refuseTarget, withNearestPeel } from "../nobody.ts";
import { request } from "../request.ts";

/** A peel that a target means (encoded id), and whether it is connected. */
export interface ResolvedPeel {
  peel_id: string;
  alive: boolean;
}

/** A function with its arguments. */
export interface CalledFunction {
  function: string;
  args?: Record<string, Plain> | undefined;
}

/** What a target and a function mean now. */
export interface Meaning {
  peels: ResolvedPeel[];
  /** Digest of the state files that the function uses; absent for one that uses none. */
  snapshot?: Uint8Array;
}

/**
 * Asks a master which peels a target selects.
 *
 * @param target an expression, or a list of ids of which those that are not members are left out
 * @throws SvcError `not_found` when it selects none, with the nearest name; the error of the master for the expression
 */
export async function resolvePeels(bus: Bus, target: string | readonly string[]): Promise<ResolvedPeel[]> {
  return (await resolveMeaning(bus, target)).peels;
}

/**
 * Asks a master which peels a target selects, and which state files a function uses.
 *
 * @throws SvcError as `resolvePeels`; `not_found` for an environment that does not exist
 */
export async function resolveMeaning(
  bus: Bus,
  target: string | readonly string[],
  called?: CalledFunction,
): Promise<Meaning> {
  if (typeof target === "string") return withNearestPeel(bus, target, () => resolve(bus, target, called));
  return resolve(bus, target, called);
}

async function resolve(
  bus: Bus,
  target: string | readonly string[],
  called: CalledFunction | undefined,
): Promise<Meaning> {
  const peels: ResolvedPeel[] = [];
  let snapshot: Uint8Array | undefined;
  const requested = typeof target === "string" ? { target } : { targets: [...target] };
  for (let after: string | undefined; ; ) {
    const more = after === undefined ? { ...called } : { after };
    const found = await request(bus, targetOperations.resolveTarget, { ...requested, ...more });
    peels.push(...found.targets);
    snapshot ??= found.snapshot as Uint8Array | undefined;
    after = found.next;
    if (after === undefined) break;
  }
  return peels.length > 0 ? { peels, ...defined({ snapshot }) } : refuseTarget();
}
