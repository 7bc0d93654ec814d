import { expect, test } from "bun:test";
import type { EndedRun, EndedState } from "../../host/modules/mod.ts";
import { decodeReport, encodeReport, maxReportBytes } from "../../wire/state-report.ts";
import { reportOf } from "./report-of.ts";

const state = (id: string, more: Partial<EndedState> = {}): EndedState => ({
  ...{ id, function: "file.managed", name: `/etc/${id}`, file: "web.sls", line: 3 },
  ...{ result: true, changes: {}, comment: "", duration_ms: 1 },
  ...more,
});
const run = (states: EndedState[], more: Partial<EndedRun> = {}): EndedRun => ({
  ...{ startedAt: Date.parse("2026-01-01T00:00:00Z"), duration_ms: 12.4, environment: "base" },
  ...{ commit: "0123abc", snapshot: "5c".repeat(32), test: false, states, not_run: 0 },
  ...more,
});
const changes = { mode: "0644" };

test("a run is counted to the letter, each state once", () => {
  const states = [
    state("fine"),
    state("put-back", { changes }),
    state("broken", { result: false, comment: "no room", changes }),
    state("required", { result: false, skipped: "requisite" }),
    state("guarded", { skipped: "unless" }),
  ];
  const origin = { trigger: "job", jid: "job-0ujsszwN8NRY24YaXiTIE2VWDTS" } as const;
  const report = reportOf(run(states, { origin }));
  expect(report).toEqual({
    ...{ run_at: "2026-01-01T00:00:00.000Z", ...origin, environment: "base", commit: "0123abc", test: false },
    snapshot: "5c".repeat(32),
    ...{ ok: 1, changed: 1, failed: 2, skipped: 1, would_change: 0, duration_ms: 12 },
    failures: [
      { id: "broken", function: "file.managed", file: "web.sls", line: 3, comment: "no room" },
      { id: "required", function: "file.managed", file: "web.sls", line: 3, comment: "" },
    ],
    drift: [{ id: "put-back", function: "file.managed" }],
  });
  expect(decodeReport(encodeReport(report))).toEqual(report);
});

test("a test run changes nothing, and says what would change", () => {
  const states = [state("a", { result: null, changes }), state("b", { changes }), state("c")];
  expect(reportOf(run(states, { test: true }))).toMatchObject({
    ...{ trigger: "call", test: true, ok: 1, changed: 0, would_change: 2, failed: 0 },
    drift: [{ id: "a" }, { id: "b" }],
  });
  const one = { result: null, changes };
  expect(reportOf(run([state("a", one)]))).toMatchObject({ changed: 0, would_change: 1 });
});

test.each([
  [
    "files that do not compile",
    { problems: [{ file: "web.sls", line: 7, message: "unknown function" }, { message: "no top file" }] },
    [
      { id: "", function: "", file: "web.sls", line: 7, comment: "unknown function" },
      { id: "", function: "", file: "", line: 0, comment: "no top file" },
    ],
  ],
  [
    "a run that was cancelled",
    { stopped: "cancelled" as const, not_run: 4 },
    [{ id: "", function: "", file: "", line: 0, comment: "stopped after 0 of 4 states" }],
  ],
])("%s count as one failure", (_, more, failures) => {
  expect(reportOf(run([], more))).toMatchObject({ failed: 1, ok: 0, failures });
});

test("what is beyond a limit is cut, and the report always fits the bucket", () => {
  const long = "é".repeat(5_000);
  const failing = Array.from({ length: 10_000 }, (_, at) =>
    state(`${at}${long}`, { function: long, file: long, result: false, comment: long }),
  );
  const drifting = Array.from({ length: 100 }, (_, at) => state(`${at}${long}`, { function: long, changes }));
  const report = reportOf(run([...failing, ...drifting], { environment: long }));
  expect([report.failed, report.failures.length, report.changed, report.drift.length]).toEqual([
    ...[10_000, 20, 100, 50],
  ]);
  const bytes = encodeReport(report);
  expect(bytes.length).toBeLessThanOrEqual(maxReportBytes);
  expect(decodeReport(bytes)).toMatchObject({ failed: 10_000, failures: report.failures });
  const wide = reportOf(run(failing.map((one) => ({ ...one, comment: "\u{1f600}".repeat(500) }))));
  expect(encodeReport(wide).length).toBeLessThanOrEqual(maxReportBytes);
});
