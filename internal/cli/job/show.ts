import { displayPeelId, encodePeelId } from "../../base/peel-id.ts";
import { type JobView, showJob } from "../../fleet/jobs/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { jidArg } from "./ask.ts";
import { summaryLine } from "./counts.ts";
import { openJobs } from "./storage.ts";
import { formatReturns } from "./table.ts";

export const showCommand = command({
  name: "show",
  description: "Show the current status of a job, and the results so far.",
  args: {
    jid: jidArg,
    peel: { type: "string", valueHint: "id", description: "Only the result of this peel", ids: "peels" },
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const deps = await openJobs(bus, cli);
      if (args.peel === undefined) {
        const view = await showJob(deps, args.jid);
        return cli.print(view, () => `${formatJob(view)}\n\n${formatReturns(view, cli)}`);
      }
      const peel = encodePeelId(args.peel);
      const view = await showJob(deps, args.jid, peel);
      const data = { jid: view.jid, peel_id: peel, outcome: view.outcomes[peel], ...view.returns[peel] };
      await cli.print(data, () => formatReturns({ ...view, targets: [peel] }, cli));
    }),
});

/** What is known of a job apart from its returns. */
function formatJob(view: JobView): string {
  const args = Object.entries(view.args).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const metadata = Object.entries(view.metadata).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const fields: [string, string | undefined][] = [
    ["Job", view.jid],
    ["Function", [view.function, ...args].join(" ")],
    ["Target", view.target ?? view.targets.map(displayPeelId).join(", ")],
    ["Schedule", view.schedule],
    ["Metadata", metadata.length === 0 ? undefined : metadata.join(" ")],
    ["Status", view.status],
    ["Peels", summaryLine(view.counts)],
    ["Created", `${view.created_at} by ${view.created_by}`],
    ["Approved by", view.approved_by?.join(", ")],
    ["Request", view.request_id],
    ["Deadline", `${view.deadline} (${view.timeout})`],
    [
      "Cancelled",
      view.cancelled_at === undefined ? undefined : `${view.cancelled_at} by ${view.cancelled_by}`,
    ],
    ["Cancel request", view.cancel_request_id],
    ["Finished", view.finished_at],
  ];
  return formatFields(
    fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );
}
