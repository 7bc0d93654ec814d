import type { FleetIndex } from "../../fleet/targeting/mod.ts";
import { readHeartbeat } from "../../wire/heartbeat.ts";

/** The sites of peels, as their last heartbeats say. */
export interface SitesOfPeels {
  /** The site whose commands a peel receives; `undefined` for a peel that receives its own commands alone. */
  siteOf(peel: string): string | undefined;
  stop(): void;
}

/**
 * Follows which peels receive the commands for all peels of their site. Nothing depends on the truth of it: a peel
 * that claims it and does not receive them gets its own command when it has not accepted the first.
 */
export function followSitesOfPeels(index: Pick<FleetIndex, "onBeat">): SitesOfPeels {
  const sites = new Map<string, string>();
  const stop = index.onBeat((peel, _, value) => {
    const site = readHeartbeat(value)?.site;
    if (site === undefined) sites.delete(peel);
    else sites.set(peel, site);
  });
  return { siteOf: (peel) => sites.get(peel), stop };
}
