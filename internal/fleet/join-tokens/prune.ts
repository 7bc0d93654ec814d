import type { Clock } from "../../base/clock.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { useKey } from "./use.ts";
import type { JoinTokenView } from "./view.ts";

/** How long a token that has ended stays, to be looked at. */
export const keptMs = 7 * 24 * 3_600_000;
const removedAtOnce = 16;

/**
 * Removes tokens that ended long ago. The uses go first: a master that dies in between leaves a token, whose rest the
 * next run removes.
 */
export async function pruneTokens(deps: {
  tokens: Pick<Bucket, "get" | "remove">;
  view: Pick<JoinTokenView, "all" | "usesOf">;
  clock: Pick<Clock, "now">;
}): Promise<void> {
  const { tokens, view, clock } = deps;
  for (const { id, expiresAt } of view.all()) {
    if (expiresAt + keptMs > clock.now()) continue;
    const uses = [...view.usesOf(id)];
    await mapBounded(uses, { atOnce: removedAtOnce }, ([slot, { revision }]) =>
      tokens.remove(useKey(id, slot), revision),
    );
    const entry = await tokens.get(id);
    if (entry !== undefined) await tokens.remove(id, entry.revision);
  }
}
