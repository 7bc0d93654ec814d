import type { Bus } from "../../bus/connection/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { siteHintSubject } from "../../bus/subjects/subjects.ts";
import { clusterInfoKey } from "../../fleet/bootstrap/mod.ts";
import type { Sites } from "../../fleet/sites/mod.ts";

/**
 * Tells the peels of sites that the bootstrap document changed: the change itself does not cross the link of a site.
 * Peels spread their hellos. Every master does it, and a peel takes hints of the same moment for one.
 */
export function hintSites(options: {
  bus: Pick<Bus, "publish">;
  sites: Pick<Sites, "open">;
  /** The bucket `secrets`. */
  secrets: Pick<Bucket, "watch">;
}): { stop(): void } {
  const { bus, sites, secrets } = options;
  return secrets.watch(({ key }) => {
    if (key !== clusterInfoKey) return;
    for (const { name } of sites.open()) bus.publish(siteHintSubject(name), new Uint8Array());
  });
}
