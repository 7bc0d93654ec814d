import { createPeelMetrics } from "../../internal/agent/daemon/metrics.ts";
import { parseYaml, plainValue } from "../../internal/base/yaml/yaml.ts";
import { createMasterMetrics } from "../../internal/master/metrics/metrics.ts";
import type { MetricInfo } from "../../internal/program/health/registry.ts";
import { cell } from "./reference.ts";

/** Every metric of a daemon. */
export const catalogs: Readonly<Record<"master" | "peel", readonly MetricInfo[]>> = {
  master: createMasterMetrics(() => ({})).catalog(),
  peel: createPeelMetrics({
    refused: () => ({}),
    jobs: () => ({}),
    queued: () => 0,
    outbox: () => ({ messages: 0, bytes: 0, dropped: 0, refused: 0 }),
    spans: () => ({}),
    scheduleSkipped: () => 0,
    connected: () => false,
    connects: () => 0,
    credentialsExpiry: () => undefined,
    renewals: () => ({}),
    factsStoredAt: () => undefined,
    watchdogRestarts: () => 0,
    lastUpgrade: () => undefined,
  }).catalog(),
};

/** One alert rule of Prometheus. */
export interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

/** The alert rules of a rule file, by group. */
export function alertRules(text: string): { name: string; rules: AlertRule[] }[] {
  return (plainValue(parseYaml(text, "alerts.yaml")) as { groups: { name: string; rules: AlertRule[] }[] })
    .groups;
}

/**
 * The reference of every metric and every alert, as Markdown: the text of `docs/metrics.md`.
 *
 * @param alerts text of the rule file
 */
export function metricsReference(alerts: string): string {
  const isOwn = ({ name }: MetricInfo) => name.startsWith("svc_");
  const isBoth = ({ name }: MetricInfo) => catalogs.peel.some((metric) => metric.name === name);
  return `${[
    "# Metrics and alerts",
    "<!-- Generated from internal/master/metrics, release/monitoring/alerts.yaml and test/docs/metrics.ts: change those, not this page. -->",
    "A master serves `/metrics` on `health_addr`, by default `127.0.0.1:9091`, and a peel on `127.0.0.1:9090`, in the Prometheus text format. The names and labels below are stable across versions. On the same address, `/healthz` answers 200 while the program runs, and `/readyz` answers 503 while one of its checks is down.",
    "Several masters see the same fleet. Gauges such as `svc_enrollments` and `svc_peels_alive` are the same on every master, so use their maximum. Job counters and histograms count the work of one master, so use their sum.",
    "`release/monitoring/dashboard.json` is a Grafana dashboard, and `release/monitoring/alerts.yaml` contains the rules at the end of this page. Both expect that Prometheus scrapes the masters as job `svc-master`, and the peels, if at all, as job `svc-peel`:",
    "```yaml\nscrape_configs:\n  - job_name: svc-master\n    static_configs: [{targets: ['master-1:9091']}]\nrule_files: [alerts.yaml]\n```",
    "## svc-master",
    table(catalogs.master.filter((metric) => isOwn(metric) && !isBoth(metric))),
    "## svc-peel",
    table(catalogs.peel.filter((metric) => isOwn(metric) && metric.name !== "svc_build_info")),
    "## Both",
    table(
      catalogs.peel.filter(
        (metric) => isBoth(metric) && (!isOwn(metric) || metric.name === "svc_build_info"),
      ),
    ),
    "## Alerts",
    ...alertRules(alerts).flatMap(({ name, rules }) => [
      `### ${name}`,
      ...rules.map((rule) => {
        const held = rule.for === undefined ? "" : ` for ${rule.for}`;
        return `**${rule.alert}** (${rule.labels.severity})${held}: \`${rule.expr}\`. ${rule.annotations.description}`;
      }),
    ]),
  ].join("\n\n")}\n`;
}

function table(metrics: readonly MetricInfo[]): string {
  const rows = metrics.map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    cell(help),
  ]);
  const head = ["Name", "Type", "Labels", "Meaning"];
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
