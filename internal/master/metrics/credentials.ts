import type { MetricsRegistry } from "../../program/health/mod.ts";
import { seconds } from "./readings.ts";

export interface CredentialsView {
  credentials?(): {
    /** The earliest expiry of all valid credentials, milliseconds since the Unix epoch. */
    soonestExpiry?: number;
    /** Number of members whose credentials have expired. */
    expired: number;
    /** How long the credentials of each member last, milliseconds. */
    left: readonly number[];
  };
}

export interface CredentialMetrics {
  /** A peel asked for new credentials: it got them, or was refused. */
  credentialsRenewal(outcome: RenewalOutcome): void;
  /** @param epochMs expiry of the certificate */
  certificateNotAfter(certificate: "enroll" | "intermediate" | "root", epochMs: number): void;
  /** The renewal or replacement of the listener's certificate succeeded or failed. */
  certificateRenewal(result: "ok" | "failed"): void;
}

/** What became of a request for new credentials. */
const renewalOutcomes = [
  "renewed",
  "rekeyed",
  "recovered",
  "repeated",
  "clone_suspected",
  "bad_request",
  "unauthorized",
  "not_found",
  "forbidden",
  "rate_limited",
  "unavailable",
] as const;
type RenewalOutcome = (typeof renewalOutcomes)[number];

const dayMs = 24 * 60 * 60 * 1000;

/** Adds the metrics of credentials and certificates, and of their renewal. */
export function countCredentials(registry: MetricsRegistry, view: () => CredentialsView): CredentialMetrics {
  const { counter, gauge } = registry;
  gauge(
    "svc_peel_credentials_soonest_expiry_timestamp_seconds",
    "When the first of all good peel credentials end, seconds since the Unix epoch; NaN when there are none",
    () => seconds(view().credentials?.().soonestExpiry),
  );
  gauge(
    "svc_peel_credentials_expired",
    "Members of the fleet whose credentials have ended",
    () => view().credentials?.().expired,
  );
  registry.snapshot(
    "svc_credentials_days_left",
    "Days until the credentials of each member of the fleet end, at the time of the scrape",
    [0, 1, 3, 7, 14, 30, 60, 90, 180, 365],
    () =>
      view()
        .credentials?.()
        .left.map((ms) => ms / dayMs),
  );
  const renewed = counter(
    "svc_credentials_renewals_total",
    "Requests of peels for new credentials, by outcome: renewed, rekeyed, recovered, repeated, or why they were refused",
    ["outcome"],
  );
  const notAfter = registry.level(
    "svc_certificate_not_after_timestamp_seconds",
    "Expiry of a certificate, seconds since the Unix epoch",
    ["certificate"],
  );
  const certificates = counter(
    "svc_certificate_renewals_total",
    "Renewals of the enrollment certificate since the start, by result",
    ["result"],
  );
  for (const outcome of renewalOutcomes) renewed.inc({ outcome }, 0);
  for (const result of ["ok", "failed"]) certificates.inc({ result }, 0);
  return {
    credentialsRenewal: (outcome) => renewed.inc({ outcome }),
    certificateNotAfter: (certificate, epochMs) => notAfter.set({ certificate }, epochMs / 1000),
    certificateRenewal: (result) => certificates.inc({ result }),
  };
}
