import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How sites, and the certificates of their servers, are reached. */
export const siteDoors = {
  // The servers of sites have no credentials but the keys of their links.
  renewSiteCertificate: {
    rest: {
      ...{ method: "POST", path: "/api/v1/sites/:site/certificate", tag: "Cluster" },
      ...{ auth: "none", budget: "strict", body: "required", bodyTitle: "SiteCertificateRequest" },
      answers: {
        200: "The certificate",
        400: "A field is malformed, or the new key did not sign",
        401: "The request is not signed by the key of the link of this site, or too long ago",
        403: "The site was removed",
        409: "This fleet has no CA of its own",
        429: "The site got too many certificates today",
      },
    },
  },
  // Not over REST: it takes the keys of a server that `svc cluster add-site` makes.
  addSite: { bus: { subject: "svc.admin.cluster.add-site" } },
  // Not over REST: what ends a server of the bus is decided by operators whose requests are signed.
  removeSite: { bus: { subject: "svc.admin.cluster.remove-site" } },
} as const satisfies Doors<typeof operations>;
