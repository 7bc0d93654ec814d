import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import type { SiteCertificateDeps } from "../../fleet/sites/mod.ts";
import { certifyKey } from "../../identity/ca/mod.ts";
import { spkiPin } from "../../identity/trust/mod.ts";
import { busValidityMs } from "../certificate/mod.ts";
import type { MasterDeps } from "./options.ts";
import type { Audited } from "./parts/audit.ts";
import type { Certificate } from "./parts/certificate.ts";
import type { SitesPart } from "./parts/sites.ts";
import type { Opened } from "./parts/storage.ts";

/** What a master needs to issue the certificates of sites: its CA, the records of sites, and the audit. */
export function siteCertificates({
  certificates,
  recorder,
  storage,
  recordMac,
  sites,
  clock,
  random,
}: Pick<MasterDeps, "clock" | "random"> &
  Pick<Certificate, "certificates"> &
  Pick<Audited, "recorder"> &
  Pick<Opened, "storage" | "recordMac"> &
  Pick<SitesPart, "sites">): SiteCertificateDeps {
  return {
    ...{ bucket: storage.sites, mac: recordMac, sites, clock },
    async certify(key, names) {
      const { inForce } = certificates.current();
      if (inForce === undefined) {
        throw new SvcError("conflict", "this fleet has no CA of its own: issue the certificate with yours");
      }
      const spki = new Uint8Array(key.export({ format: "der", type: "spki" }));
      const publicKey = await crypto.subtle.importKey(
        "spki",
        spki,
        { name: "ECDSA", namedCurve: "P-256" },
        true,
        ["verify"],
      );
      const issued = await certifyKey(inForce.authority, publicKey, {
        ...{ commonName: "svc-site", names, usage: "nats-server", validityMs: busValidityMs, clock, random },
      });
      return { ...issued, root: spkiPin(inForce.authority.rootPem) };
    },
    async record({ site, key, names, requestId, request }) {
      return recorder.begin({
        ...{ operator: `site:${site}`, key, via: "rest", action: "sites.certificate" },
        ...{ subjects: { site, names: [...names] }, requestId, requestDigest: sha256(encode(request)) },
      });
    },
  };
}
