import { renewSiteCertificate, type SiteCertificateDeps } from "../../../fleet/sites/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";

/** The route of the servers of sites, which have no credentials but the keys of their links. */
export function siteRoutes({ bind }: HttpDoor, deps: SiteCertificateDeps): Route[] {
  return [
    bind(renewSiteCertificate, deps, {
      ...{ auth: "none", budget: "strict", tag: "Cluster" },
      method: "POST",
      path: "/api/v1/sites/:site/certificate",
      id: "renewSiteCertificate",
      body: "required",
      bodyTitle: "SiteCertificateRequest",
      answers: {
        200: "The certificate",
        400: "A field is malformed, or the new key did not sign",
        401: "The request is not signed by the key of the link of this site, or too long ago",
        403: "The site was removed",
        409: "This fleet has no CA of its own",
        429: "The site got too many certificates today",
      },
    }),
  ];
}
