import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { Random } from "../base/id.ts";
import type { Log } from "../base/log.ts";
import type { MasterConfig } from "../config/load.ts";
import type { Check } from "../health/check.ts";
import { createFileCertificate } from "./certificate-files.ts";
import { createIssuedCertificate } from "./certificate-issued.ts";

/** What the HTTPS listener serves, and the CA root behind it where the master knows it. */
export interface EnrollCertificate {
  /** PEM of the chain, the leaf first. */
  cert: string;
  /** PEM of its private key, a secret. */
  key: string;
  /** When the leaf ends, milliseconds since the Unix epoch. */
  notAfter: number;
  /** Only with an embedded CA. */
  root?: { pem: string; pin: string };
}

/** The certificate of the listener, which changes while the master runs. */
export interface CertificateSource {
  current(): EnrollCertificate;
  /** Calls `run` with each new certificate; returns the way to stop it. */
  onChange(run: (certificate: EnrollCertificate) => void): () => void;
  /** The readiness check `ca`; only with an embedded CA. */
  check?: Check;
  stop(): void;
}

/** What a source counts and shows. */
export interface CertificateMetrics {
  /** @param epochMs when it ends */
  certificateNotAfter(certificate: "enroll" | "intermediate" | "root", epochMs: number): void;
  certificateRenewal(result: "ok" | "failed"): void;
}

export interface CertificateOptions {
  config: MasterConfig;
  hostname: string;
  clock: Clock;
  random: Random;
  log: Log;
  metrics: CertificateMetrics;
}

/**
 * Opens the certificate of the HTTPS listener (specification, "ca.mode semantics"): issued here by the
 * embedded CA and renewed, or read from files and read again when they are replaced.
 *
 * @throws SvcError `bad_request` naming the file that is missing or does not fit, and the command that makes it
 */
export function createCertificateSource(options: CertificateOptions): Promise<CertificateSource> {
  const mode = options.config["ca.mode"];
  const embedded =
    mode === "embedded" || (mode === "auto" && existsSync(join(options.config["ca.dir"], "root.crt")));
  return embedded ? createIssuedCertificate(options) : createFileCertificate(options);
}

/** The certificate as of now, without renewal. */
export async function loadEnrollCertificate(
  options: Omit<CertificateOptions, "metrics">,
): Promise<EnrollCertificate> {
  const source = await createCertificateSource({
    ...options,
    metrics: { certificateNotAfter: () => {}, certificateRenewal: () => {} },
  });
  source.stop();
  return source.current();
}
