import { defined } from "../../../base/defined.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import { type CertificateSource, createCertificateSource } from "../../certificate/mod.ts";
import type { MasterDeps } from "../options.ts";

/** The certificate of the HTTPS listener, which changes while the master runs. */
export const certificate = {
  async start({ base }: { base: MasterDeps }) {
    const certificates: CertificateSource = await createCertificateSource(base);
    const { check } = certificates;
    return {
      certificates,
      checks: defined({ ca: check }),
      stop: certificates.stop,
    };
  },
};

export type Certificate = OffersOf<typeof certificate>;
