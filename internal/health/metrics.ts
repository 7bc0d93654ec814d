import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** What a master counts. Names and labels are part of the product: alerts are written against them. */
export interface MasterMetrics {
  /** From an operator's revocation to the end of the peel's live connection, seconds. */
  revocationSeconds(seconds: number): void;
  rateLimited(budget: string): void;
  keyMismatch(): void;
  /** A status stream was opened; call what it returns, once, when it is closed. */
  streamOpened(): () => void;
  /** @param epochMs when the certificate ends */
  certificateNotAfter(certificate: "enroll" | "intermediate" | "root", epochMs: number): void;
  /** The certificate of the listener was renewed or replaced, or could not be. */
  certificateRenewal(result: "ok" | "failed"): void;
  /** A peel's schedule sent a result: it became a job, had been one before, or could not be one. */
  scheduleResult(result: "stored" | "repeated" | "refused"): void;
  /** What became of a peel's settings: `written`, `unchanged`, `failed`, … */
  settingsRenewal(result: string): void;
  /** The embedded bus ended and was started again. */
  busRestarted(): void;
  /** The text of `/metrics`. */
  render(): Promise<string>;
}

/**
 * Creates the metrics of a master.
 *
 * @param enrollmentsByState asked at each scrape
 */
export function createMasterMetrics(enrollmentsByState: () => Record<string, number>): MasterMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "svc_enrollments",
    help: "Enrollments by state",
    labelNames: ["state"],
    registers,
    collect() {
      for (const [state, count] of Object.entries(enrollmentsByState())) this.set({ state }, count);
    },
  });
  const revocation = new Histogram({
    name: "svc_revocation_close_seconds",
    help: "Time from the operator's command to the end of the revoked peel's connection",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  });
  const limited = new Counter({
    name: "svc_http_rate_limited_total",
    help: "Requests refused by the rate limit",
    labelNames: ["budget"],
    registers,
  });
  const mismatches = new Counter({
    name: "svc_enrollment_key_mismatch_total",
    help: "Enrollments repeated with another public key while one was pending",
    registers,
  });
  const streams = new Gauge({
    name: "svc_enroll_streams",
    help: "Open enrollment status streams",
    registers,
  });
  const notAfter = new Gauge({
    name: "svc_certificate_not_after_timestamp_seconds",
    help: "When a certificate ends, seconds since the Unix epoch",
    labelNames: ["certificate"],
    registers,
  });
  const renewals = new Counter({
    name: "svc_certificate_renewals_total",
    help: "Renewals of the enrollment certificate while running",
    labelNames: ["result"],
    registers,
  });
  for (const result of ["ok", "failed"]) renewals.inc({ result }, 0);
  const scheduleResults = new Counter({
    name: "svc_schedule_results_total",
    help: "Results of the schedules of peels",
    labelNames: ["result"],
    registers,
  });
  for (const result of ["stored", "repeated", "refused"]) scheduleResults.inc({ result }, 0);
  const settings = new Counter({
    name: "svc_settings_compiled_total",
    help: "Settings of one peel compiled by this master",
    labelNames: ["result"],
    registers,
  });
  for (const result of ["written", "unchanged", "failed"]) settings.inc({ result }, 0);
  const busRestarts = new Counter({
    name: "svc_embedded_bus_restarts_total",
    help: "Times the embedded bus had to be started again",
    registers,
  });
  return {
    revocationSeconds: (seconds) => revocation.observe(seconds),
    rateLimited: (budget) => limited.inc({ budget }),
    keyMismatch: () => mismatches.inc(),
    streamOpened() {
      streams.inc();
      return () => streams.dec();
    },
    certificateNotAfter: (certificate, epochMs) => notAfter.set({ certificate }, epochMs / 1000),
    certificateRenewal: (result) => renewals.inc({ result }),
    scheduleResult: (result) => scheduleResults.inc({ result }),
    settingsRenewal: (result) => settings.inc({ result }),
    busRestarted: () => busRestarts.inc(),
    render: () => registry.metrics(),
  };
}
