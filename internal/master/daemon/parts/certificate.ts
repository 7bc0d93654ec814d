import { X509Certificate } from "node:crypto";
import { namesOfLeaf } from "../../../identity/ca/mod.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import { type CertificateSource, createCertificateSource } from "../../certificate/mod.ts";
import type { MasterDeps } from "../options.ts";

/** The certificate of the HTTPS listener, which changes while the master runs. */
export const certificate = {
  async start({ base }: { base: MasterDeps }) {
    const certificates: CertificateSource = await createCertificateSource(base);
    const { check } = certificates;
    let named: { cert: string; names: readonly string[] } | undefined;
    return {
      certificates,
      /** The names and addresses of the certificate. */
      names() {
        const { cert } = certificates.current();
        if (named?.cert !== cert) named = { cert, names: namesOfLeaf(new X509Certificate(cert)) };
        return named.names;
      },
      checks: { [check.name]: check.run },
      stop: certificates.stop,
    };
  },
};

export type Certificate = OffersOf<typeof certificate>;
