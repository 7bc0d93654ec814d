import type { JobSummary } from "../../fleet/jobs/records/mod.ts";
import { formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { filesCells, withFiles } from "../files-column.ts";
import { total } from "./counts.ts";

const call = { JID: "id", FUNCTION: "name" } as const;
const columns = {
  TARGET: "text",
  PEELS: "spare word",
  STATUS: "state",
  OK: "spare word",
  "NOT OK": "spare word",
  FILES: "spare text",
  SOURCE: "wide",
  BY: "text",
  CREATED: "ago",
} as const;

/**
 * Jobs as a table, the runs of a schedule as one row with the newest of them. While a job runs, nobody has counted yet:
 * then a dash stands for the numbers. Arguments and files have a column where a job has some.
 */
export function formatJobs(jobs: readonly JobSummary[], style: TableStyle): string {
  const hasArguments = jobs.some((job) => job.args_text !== undefined);
  return formatTable(
    withFiles({ ...call, ...(hasArguments ? ({ ARGUMENTS: "spare text" } as const) : {}), ...columns }, jobs),
    jobs.map((job) => {
      const { jid, function: name, status, args_text = "-", source = "-", created_by, created_at } = job;
      return [
        jid,
        name,
        ...(hasArguments ? [args_text] : []),
        targetCell(job),
        sizeCell(job),
        status,
        ...countCells(job),
        ...filesCells(job, jobs),
        source,
        created_by,
        created_at,
      ];
    }),
    style,
  );
}

function countCells({ counts, runs, failed_runs = 0 }: JobSummary): [ok: string, notOk: string] {
  if (runs !== undefined) return [String(runs - failed_runs), String(failed_runs)];
  const { ok = 0, pending = 0 } = counts;
  return total(counts) > 0 ? [String(ok), String(total(counts) - ok - pending)] : ["-", "-"];
}

function targetCell({ target, schedule }: JobSummary): string {
  return target ?? (schedule === undefined ? "(list)" : `schedule:${schedule}`);
}

/** How many peels it is for, or for how many runs of a schedule the row stands. */
function sizeCell({ targets, runs }: JobSummary): string {
  return runs === undefined ? String(targets) : `${runs.toLocaleString("en")} ${runs === 1 ? "run" : "runs"}`;
}
