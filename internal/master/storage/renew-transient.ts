import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { type AssetName, streamName } from "../../bus/assets/mod.ts";

/** In memory: gone with every restart of the bus, and made again when it is needed. */
export const transient: ReadonlySet<AssetName> = new Set(["enroll-challenges", "request-nonces", "sessions"]);

/** How long a stream may have no leader: an election takes seconds. */
const electionMs = 10_000;

/**
 * Makes streams in memory again that elect no leader. Servers that have all restarted hold nothing of such a stream, and
 * then elect one only when none of its servers is away. Without it masters could not serve until that server is back,
 * and it could not be removed from the cluster either.
 *
 * @param options.drop has the bus forget one
 * @param options.provision creates what is missing
 * @returns what to call with the streams that have no leader each time they were measured. While another one has none,
 * servers are missing, and nothing is done
 */
export function renewTransient(options: {
  drop: (asset: AssetName) => Promise<void>;
  provision: () => Promise<unknown>;
  clock: Pick<Clock, "monotonic">;
  log: Log;
}): (silent: readonly AssetName[]) => Promise<void> {
  const { drop, provision, clock, log } = options;
  let since = new Map<AssetName, number>();
  return async (silent) => {
    const now = clock.monotonic();
    const isOther = silent.some((asset) => !transient.has(asset));
    since = new Map(isOther ? [] : silent.map((asset) => [asset, since.get(asset) ?? now]));
    const lost = [...since].flatMap(([asset, at]) => (now - at < electionMs ? [] : [asset]));
    if (lost.length === 0) return;
    since.clear();
    log.warn("streams in memory elect no leader and are made again", {
      streams: lost.map(streamName).join(", "),
    });
    await Promise.all(lost.map(drop));
    await provision();
  };
}
