import { type JobStatus, type JobSummary, jobStatuses } from "../../fleet/jobs/mod.ts";
import { jobsOverBus } from "../../fleet/over-bus/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { limitArg, readLimit } from "../limit.ts";
import { withBus } from "../operator.ts";
import { total } from "./counts.ts";

const range = { most: 1_000, usual: 20 };
const widestTarget = 40;

export const listCommand = command({
  name: "list",
  description: "List jobs, newest first.",
  args: {
    status: { type: "enum", options: [...jobStatuses], description: "Only jobs with this status" },
    limit: limitArg("jobs", range),
  },
  async run(args, cli) {
    const limit = readLimit(args.limit, range);
    await withBus(cli, async (bus) => {
      const status = args.status as JobStatus | undefined;
      const { jobs, next } = await ask(bus, jobsOverBus.list, { limit, status });
      await cli.print(jobs, () => formatJobs(jobs, cli));
      if (jobs.length === 0) cli.say("no jobs");
      if (next !== undefined) cli.say(`there are more: --limit takes up to ${range.most}`);
    });
  },
});

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
