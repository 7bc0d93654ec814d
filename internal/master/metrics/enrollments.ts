import type { MetricsRegistry } from "../../program/health/mod.ts";
import { quickBuckets } from "./buckets.ts";
import { flag } from "./readings.ts";

/** What is known of the enrollments. A part that has not started shows nothing. */
export interface EnrollmentsView {
  /** Current enrollments, by state. */
  enrollments?(): Record<string, number>;
  /** The log of decisions of this master. */
  decisions?(): {
    /** Records that the bus lacks. */
    lost: number;
    /** Records that this master put back. */
    restored: number;
    /** Whether the log cannot be written. */
    failed: boolean;
  };
  /** Bus users without a valid record that are refused. */
  strays?(): number;
  /** Records that no master vouches for. */
  tampered?(): number;
}

export interface EnrollmentMetrics {
  /** Time from an operator's revocation to the end of the peel's connection, seconds. */
  revocationSeconds(seconds: number): void;
  keyMismatch(): void;
  /** A new peel got the answer to come later, because too many enrollments are pending. */
  pendingTableFull(): void;
  /** A record was marked because two hosts appear to hold its identity. */
  cloneSuspected(): void;
  /** A status stream was opened. Call the returned function once when it is closed. */
  streamOpened(): () => void;
}

/** Adds the metrics of enrollments and of the decisions about them. */
export function countEnrollments(registry: MetricsRegistry, view: () => EnrollmentsView): EnrollmentMetrics {
  showEnrollments(registry, view);
  const { counter } = registry;
  const revocation = registry.histogram(
    "svc_revocation_close_seconds",
    "Time from the operator's command to the end of the revoked peel's connection",
    [],
    quickBuckets,
  );
  const mismatches = counter(
    "svc_enrollment_key_mismatch_total",
    "Enrollments repeated with another public key while one was pending",
    [],
  );
  const full = counter(
    "svc_enrollments_deferred_total",
    "Enrollments of new peels that were asked to come later, because too many are pending",
    [],
  );
  const clones = counter(
    "svc_enrollment_clones_total",
    "Enrollments that this master marked because two hosts appear to hold their identity",
    [],
  );
  const streams = registry.level("svc_enroll_streams", "Open enrollment status streams", []);
  return {
    revocationSeconds: (seconds) => revocation.observe(seconds),
    keyMismatch: () => mismatches.inc(),
    pendingTableFull: () => full.inc(),
    cloneSuspected: () => clones.inc(),
    streamOpened() {
      streams.inc();
      return () => streams.dec();
    },
  };
}

function showEnrollments(
  { counted, gauge, gaugeBy }: Pick<MetricsRegistry, "counted" | "gauge" | "gaugeBy">,
  view: () => EnrollmentsView,
): void {
  gaugeBy("svc_enrollments", "Enrollments, by state", "state", () => view().enrollments?.());
  gauge(
    "svc_decisions_lost",
    "Decisions that the bus has lost and that are not put back yet",
    () => view().decisions?.().lost,
  );
  counted(
    "svc_decisions_restored_total",
    "Decisions that this master put back on the bus",
    () => view().decisions?.().restored ?? 0,
  );
  gauge("svc_decisions_log_failed", "1 while this master cannot write its log of decisions", () =>
    flag(view().decisions?.().failed),
  );
  gauge("svc_strays", "Users of the bus that are refused because no valid record has their key", () =>
    view().strays?.(),
  );
  gaugeBy(
    "svc_enrollments_distrusted",
    "Enrollment records that no master vouches for; lists show them as TAMPERED, and masters ignore them",
    "trust",
    () => {
      const tampered = view().tampered?.();
      return tampered === undefined ? undefined : { TAMPERED: tampered };
    },
  );
}
