import { SvcError } from "../../base/errors.ts";
import { type JobStatus, type JobSummary, jobStatuses } from "../../fleet/jobs/mod.ts";
import { jobsOverBus } from "../../fleet/over-bus/mod.ts";
import { command, formatTable, readFlag } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";
import { total } from "./counts.ts";

const mostJobs = 1_000;
const widestTarget = 40;

export const listCommand = command({
  name: "list",
  description: "List jobs, newest first.",
  args: {
    status: { type: "enum", options: [...jobStatuses], description: "Only jobs with this status" },
    limit: {
      type: "string",
      valueHint: "n",
      default: "20",
      description: `Maximum number of jobs, 1 to ${mostJobs}`,
    },
  },
  async run(args, cli) {
    const limit = readFlag("--limit", args.limit, parseLimit);
    await withBus(cli, async (bus) => {
      const status = args.status as JobStatus | undefined;
      const { jobs, next } = await ask(bus, jobsOverBus.list, { limit, status });
      await cli.print(jobs, () => formatJobs(jobs, cli));
      if (jobs.length === 0) cli.say("no jobs");
      if (next !== undefined) cli.say(`there are more: --limit takes up to ${mostJobs}`);
    });
  },
});

/** @throws SvcError `bad_request` */
function parseLimit(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= mostJobs) return limit;
  throw new SvcError(
    "bad_request",
    `${JSON.stringify(text.slice(0, 40))} is not a number from 1 to ${mostJobs}`,
  );
}

/** Jobs as a table. While a job runs, nobody has counted yet: then a dash stands for the numbers. */
export function formatJobs(jobs: readonly JobSummary[], options: { color: boolean }): string {
  return formatTable(
    ["JID", "FUNCTION", "TARGET", "PEELS", "STATUS", "OK", "NOT OK", "BY", "CREATED"],
    jobs.map((job) => {
      const { ok = 0, pending = 0 } = job.counts;
      const isCounted = total(job.counts) > 0;
      return [
        job.jid,
        job.function,
        targetCell(job),
        String(job.targets),
        job.status,
        isCounted ? String(ok) : "-",
        isCounted ? String(total(job.counts) - ok - pending) : "-",
        job.created_by,
        job.created_at,
      ];
    }),
    options,
  );
}

function targetCell({ target, schedule }: JobSummary): string {
  if (target === undefined) return schedule === undefined ? "(list)" : `(schedule ${schedule})`;
  return target.length <= widestTarget ? target : `${target.slice(0, widestTarget - 3)}...`;
}
