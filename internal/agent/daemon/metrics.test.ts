import { expect, test } from "bun:test";
import { createPeelMetrics } from "./metrics.ts";

test("the metrics of a peel are current at each scrape", async () => {
  const refused = { expired: 2, malformed: 0 };
  let factsStoredAt: number | undefined;
  let lastUpgrade: { success: boolean; at: number } | undefined;
  const { render, catalog } = createPeelMetrics({
    refused: () => refused,
    jobs: () => ({ ok: 3, lost: 1 }),
    queued: () => 5,
    outbox: () => ({ messages: 7, bytes: 70, dropped: 8, refused: 9 }),
    spans: () => ({ sent: 3 }),
    scheduleSkipped: () => 4,
    connected: () => true,
    connects: () => 6,
    credentialsExpiry: () => 1_800_000_000_500,
    renewals: () => ({ renewed: 12, failed: 0 }),
    factsStoredAt: () => factsStoredAt,
    watchdogRestarts: () => 10,
    lastUpgrade: () => lastUpgrade,
  });
  await render();
  refused.expired = 11;
  const lines = (await render()).split("\n");
  expect(lines.filter((line) => line.startsWith("svc_peel_"))).toEqual([
    'svc_peel_commands_refused_total{reason="expired"} 11',
    'svc_peel_commands_refused_total{reason="malformed"} 0',
    'svc_peel_jobs_total{outcome="ok"} 3',
    'svc_peel_jobs_total{outcome="lost"} 1',
    "svc_peel_outbox_dropped_total 8",
    "svc_peel_outbox_refused_total 9",
    "svc_peel_schedule_skipped_total 4",
    "svc_peel_bus_connected 1",
    "svc_peel_bus_connects_total 6",
    "svc_peel_queue_depth 5",
    "svc_peel_outbox_messages 7",
    "svc_peel_outbox_bytes 70",
    "svc_peel_credentials_expiry_timestamp_seconds 1800000000.5",
    'svc_peel_credentials_renewals_total{outcome="renewed"} 12',
    'svc_peel_credentials_renewals_total{outcome="failed"} 0',
    'svc_peel_spans_total{result="sent"} 3',
    "svc_peel_facts_stored_timestamp_seconds NaN",
    "svc_peel_watchdog_restarts_total 10",
    "svc_peel_upgrade_success NaN",
    "svc_peel_upgrade_timestamp_seconds NaN",
  ]);
  lastUpgrade = { success: false, at: 1_700_000_001_000 };
  expect(await render()).toContain("svc_peel_upgrade_success 0\n");
  expect(await render()).toContain("svc_peel_upgrade_timestamp_seconds 1700000001\n");
  factsStoredAt = 1_700_000_000_000;
  expect(await render()).toContain("svc_peel_facts_stored_timestamp_seconds 1700000000\n");
  expect(catalog().find(({ name }) => name === "svc_peel_jobs_total")).toEqual({
    name: "svc_peel_jobs_total",
    type: "counter",
    help: "Jobs that ended here, by outcome",
    labels: ["outcome"],
  });
});
