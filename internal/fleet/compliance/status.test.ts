import { expect, test } from "bun:test";
import fc from "fast-check";
import { rfc3339 } from "../../base/clock.ts";
import type { Report } from "../../wire/state-report.ts";
import { type ComplianceStatus, runAt, statuses, statusOf, usualStaleMs } from "./status.ts";

const now = Date.parse("2026-01-10T00:00:00Z");
const hour = 3_600_000;
const report = (more: Partial<Report> = {}): Report => ({
  ...{ run_at: rfc3339(now - hour), trigger: "schedule", environment: "base", commit: "" },
  ...{ test: false, ok: 1, changed: 0, failed: 0, skipped: 0, would_change: 0, duration_ms: 1 },
  ...{ failures: [], drift: [] },
  ...more,
});
const known = (more: Partial<Report> = {}, storedAt = now - hour + 1_000) => ({
  report: report(more),
  storedAt,
});
const at = (ms: number) => ({ run_at: rfc3339(now + ms) });

test.each<[string, Parameters<typeof statusOf>[0], ComplianceStatus]>([
  ["no report", undefined, "never"],
  ["a run that found all as described", known(), "described"],
  ["an empty run", known({ ok: 0 }), "described"],
  ["a run that changed something", known({ changed: 1 }), "drifted"],
  ["a test run that would", known({ test: true, would_change: 1 }), "drifted"],
  ["a run that failed and changed something", known({ changed: 1, failed: 1 }), "failed"],
  ["a run of two days ago", known({ failed: 1, ...at(-48 * hour) }), "stale"],
  ["a report that waited on a host for two days", known(at(-48 * hour), now), "stale"],
  ["a clock that is a year ahead, a moment ago", known(at(8_760 * hour), now - 1_000), "described"],
  ["a clock that is a year ahead, two days ago", known(at(8_760 * hour), now - 48 * hour), "stale"],
  ["a clock that is behind", known(at(-8_760 * hour), now), "stale"],
  ["a bus whose clock is a little ahead", known(at(0), now + 60_000), "described"],
])("%s is %s", (_, run, status) => {
  expect(statusOf(run, now, usualStaleMs)).toBe(status);
});

test("every peel becomes stale, whatever time it claims, and no run is later than its storage", () => {
  const times = fc.integer({ min: 0, max: Date.parse("9999-12-31") });
  fc.assert(
    fc.property(
      times,
      fc.integer({ min: 0, max: now }),
      fc.integer({ min: 1, max: 100 * hour }),
      (time, storedAt, stale) => {
        const run = known({ run_at: rfc3339(time) }, storedAt);
        expect(runAt(run)).toBeLessThanOrEqual(storedAt);
        expect(statusOf(run, storedAt + stale + 1, stale)).toBe("stale");
        expect(statuses).toContain(statusOf(run, now, stale));
      },
    ),
  );
});
