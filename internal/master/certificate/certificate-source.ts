import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { AuthorityInForce, Root, Rotation } from "../../identity/ca/mod.ts";
import type { MasterConfig } from "../../program/config/mod.ts";
import type { Check } from "../../program/health/mod.ts";

/** What the HTTPS listener serves, and the CA root behind it where the master knows it. */
export interface EnrollCertificate {
  /** PEM of the chain, the leaf first. */
  cert: string;
  /** PEM of its private key, a secret. */
  key: string;
  /** When the leaf ends, milliseconds since the Unix epoch. */
  notAfter: number;
  /** Only with an embedded CA. */
  root?: Root;
  /** While the root is rotated. */
  rotation?: Rotation;
  /** Only with an embedded CA: what issued it. */
  inForce?: AuthorityInForce;
}

/** The certificate of the listener, which changes while the master runs. */
export interface CertificateSource {
  current(): EnrollCertificate;
  /** Calls `run` with each new certificate; returns a function that stops it. */
  onChange(run: (certificate: EnrollCertificate) => void): () => void;
  /** The readiness check: `ca` with an embedded CA, `certificate` with files. */
  check: { name: "ca" | "certificate"; run: Check };
  stop(): void;
}

/** The metrics of a source. */
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
