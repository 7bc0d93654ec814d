import { defined } from "../../base/defined.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { jobSources, jobStatuses } from "../../fleet/jobs/records/mod.ts";
import { choice, command, value } from "../../program/command-line/mod.ts";
import { readLimit } from "../limit.ts";
import { withBus } from "../operator.ts";
import { readPastTime } from "../past-time.ts";
import { request } from "../request.ts";
import { formatJobs } from "./list-table.ts";

const maxJobs = 1_000;

export const listCommand = command({
  name: "list",
  description: "List jobs, newest first. The runs of a schedule are one row, unless --schedule names it.",
  examples: [
    "svc job list",
    "svc job list --status failed --limit 100",
    "svc job list --by ann --function 'pkg.*' --since 2h",
    "svc job list --target web-1.example.com",
    "svc job list --schedule backup",
  ],
  args: {
    status: choice(jobStatuses, "Only jobs with this status"),
    by: value("operator", "Only jobs that this operator or rule asked for"),
    function: value("glob", "Only jobs whose function matches, such as 'pkg.*'", { ids: "functions" }),
    target: value(
      "peel",
      "Only jobs that were sent to this peel, or whose target is exactly this expression",
      { ids: "peels" },
    ),
    since: value("time", "Only jobs of this time or later: RFC 3339, or a duration ago such as 2h"),
    source: choice(jobSources, "Only jobs that this made"),
    schedule: value("glob", "Only runs of these schedules, each in a row of its own"),
    limit: value("n", `Maximum number of jobs, 1 to ${maxJobs}`, { default: "20" }),
  },
  async run(args, cli) {
    const { by, target, schedule, since } = args;
    const filter = {
      limit: readLimit(args.limit, maxJobs),
      status: args.status,
      source: args.source,
      since: since === undefined ? undefined : readPastTime("--since", since, cli.clock.now()),
      ...{ by, target, schedule, function: args.function },
    };
    await withBus(cli, async (bus) => {
      const { jobs, next, unsearched = 0 } = await requestList(bus, filter);
      await cli.print(jobs, () => formatJobs(jobs, cli));
      if (jobs.length === 0) cli.say("no jobs");
      if (next !== undefined) cli.say(`there are more: --limit takes up to ${maxJobs}`);
      if (unsearched > 0) {
        cli.say(`${unsearched} older jobs were not looked at: masters have forgotten their targets`);
      }
    });
  },
});

/** Asks for the runs of schedules as one row each. */
function requestList(bus: Bus, filter: { schedule: string | undefined; limit: number }) {
  const fold = filter.schedule === undefined ? ("schedules" as const) : undefined;
  return request(bus, jobOperations.listJobs, defined({ ...filter, fold }));
}
