import type { MetricsRegistry } from "../../program/health/mod.ts";

export interface RolloutsView {
  /** Rollouts that have not ended. */
  rollouts?(): {
    /** Number of rollouts, by status. */
    byStatus: Record<string, number>;
    /** The fraction of each rollout's peels whose wave has ended, 0 to 1, by rollout id. */
    progress: Record<string, number>;
    /** Number of rollouts without a driver that no master took over. */
    undriven: number;
  };
}

export interface RolloutMetrics {
  /** A wave of a rollout began on this master. */
  rolloutWave(): void;
  /** A rollout ended on this master. */
  rolloutEnded(status: string): void;
  /** This master took over a rollout. */
  rolloutTaken(from: "silent" | "given_back"): void;
}

/** Adds the metrics of rollouts. */
export function countRollouts(
  { counter, gauge, gaugeBy }: Pick<MetricsRegistry, "counter" | "gauge" | "gaugeBy">,
  view: () => RolloutsView,
): RolloutMetrics {
  gaugeBy(
    "svc_rollouts",
    "Rollouts that have not ended, by status",
    "status",
    () => view().rollouts?.().byStatus,
  );
  gaugeBy(
    "svc_rollout_progress_ratio",
    "Fraction of the peels of a running rollout whose wave has ended, 0 to 1",
    "rollout",
    () => view().rollouts?.().progress,
  );
  gauge(
    "svc_rollouts_undriven",
    "Rollouts that have not ended, and that no master drives or takes over",
    () => view().rollouts?.().undriven,
  );
  const waves = counter("svc_rollout_waves_total", "Waves of rollouts that began on this master", []);
  const ended = counter("svc_rollouts_ended_total", "Rollouts whose result this master wrote, by status", [
    "status",
  ]);
  const takeovers = counter(
    "svc_rollout_takeovers_total",
    "Rollouts that this master took over from a silent driver, or from a driver that released them",
    ["from"],
  );
  for (const status of ["completed", "failed", "aborted"]) ended.inc({ status }, 0);
  for (const from of ["silent", "given_back"]) takeovers.inc({ from }, 0);
  return {
    rolloutWave: () => waves.inc(),
    rolloutEnded: (status) => ended.inc({ status }),
    rolloutTaken: (from) => takeovers.inc({ from }),
  };
}
