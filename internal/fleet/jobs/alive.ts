import { mapBounded } from "../../base/map-bounded.ts";
import type { Bucket } from "../../bus/mod.ts";
import { readGoodbye } from "../../wire/goodbye.ts";

const readAtOnce = 64;

/**
 * Reads from the stored heartbeats which peels are alive, for callers that do not follow them. Only the last
 * heartbeat of a peel is stored, so this is about the present.
 */
export function readAlive(heartbeats: Bucket): (peels: readonly string[]) => Promise<ReadonlySet<string>> {
  return async (peels) => {
    const alive = new Set<string>();
    await mapBounded(peels, { atOnce: readAtOnce }, async (peel) => {
      const heard = await heartbeats.get(peel);
      if (heard !== undefined && readGoodbye(heard.value) === undefined) alive.add(peel);
    });
    return alive;
  };
}
