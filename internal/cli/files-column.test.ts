import { expect, test } from "bun:test";
import type { JobSummary } from "../fleet/jobs/records/mod.ts";
import { formatJobs } from "./job/list-table.ts";

const job = (fields: Partial<JobSummary>): JobSummary => ({
  ...{ jid: "job-1", function: "test.ping", target: "*", targets: 1, status: "completed", counts: { ok: 1 } },
  ...{ created_at: "2026-01-01T00:00:00Z", created_by: "ann" },
  ...fields,
});
const ping = job({});
const state = job({
  function: "state.apply",
  content: { environment: "base", commit: "90aa51c2d7e80000", snapshot: Buffer.alloc(32, 0x5c) },
});
const headOf = (jobs: readonly JobSummary[]) =>
  formatJobs(jobs, { color: false }).split("\n")[0]?.split(/ {2,}/);

test("a table has files where something in it runs some", () => {
  expect(headOf([ping])).not.toContain("FILES");
  expect(headOf([ping, state])).toContain("FILES");
  const [, ...rows] = formatJobs([ping, state], { color: false }).split("\n");
  const cells = rows.map((row) => row.split(/ {2,}/)[7]);
  expect(cells).toEqual(["-", "base 90aa51c2d7e8 5c5c5c5c5c5c"]);
});
