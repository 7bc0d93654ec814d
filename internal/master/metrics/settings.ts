import type { MetricsRegistry } from "../../program/health/mod.ts";

export interface SettingsMetrics {
  /** The result of compiling a peel's settings: `written`, `unchanged`, `failed`, … */
  settingsRenewal(result: string): void;
}

/** Adds the metric of compiled settings. */
export function countSettings({ counter }: Pick<MetricsRegistry, "counter">): SettingsMetrics {
  const settings = counter(
    "svc_settings_compiled_total",
    "Settings of one peel compiled by this master, by result",
    ["result"],
  );
  for (const result of ["written", "unchanged", "failed"]) settings.inc({ result }, 0);
  return { settingsRenewal: (result) => settings.inc({ result }) };
}
