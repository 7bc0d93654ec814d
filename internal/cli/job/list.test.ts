import { expect, test } from "bun:test";
import type { JobSummary } from "../../fleet/jobs/records/summary.ts";
import { formatJobs } from "./list-table.ts";

const job: JobSummary = {
  jid: "job-1",
  function: "test.ping",
  target: "web-*",
  targets: 4,
  status: "failed",
  counts: { ok: 1, failed: 1, offline: 2 },
  created_at: "2026-01-01T00:00:00.000Z",
  created_by: "ci",
};

test("a row per job; what is not counted yet is a dash", () => {
  const { target: _, ...listed } = job;
  const jobs: JobSummary[] = [
    job,
    { ...job, status: "running", counts: {} },
    { ...job, status: "running", counts: { ok: 1, pending: 3 } },
    listed,
    { ...listed, schedule: "backup", targets: 1, counts: { ok: 1 }, status: "completed" },
    {
      ...{ ...listed, schedule: "backup", targets: 1, counts: { ok: 1 }, status: "completed" },
      ...{ runs: 1_440, failed_runs: 3 },
    },
    { ...job, target: `web-* and not ${"x".repeat(40)}` },
  ];
  const rows = formatJobs(jobs, { color: false }).split("\n");
  expect(rows.map((row) => row.split(/ {2,}/).slice(2, 7))).toEqual([
    ["TARGET", "PEELS", "STATUS", "OK", "NOT OK"],
    ["web-*", "4", "failed", "1", "3"],
    ["web-*", "4", "running", "-", "-"],
    ["web-*", "4", "running", "1", "0"],
    ["(list)", "4", "failed", "1", "3"],
    ["schedule:backup", "1", "completed", "1", "0"],
    ["schedule:backup", "1,440 runs", "completed", "1437", "3"],
    [`web-* and not ${"x".repeat(40)}`, "4", "failed", "1", "3"],
  ]);
});
