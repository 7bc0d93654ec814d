import { defined } from "../../base/defined.ts";
import { displayPeelId, encodePeelId } from "../../base/names/peel-id.ts";
import type { JobView } from "../../fleet/jobs/mod.ts";
import { command, formatFields, value } from "../../program/command-line/mod.ts";
import { contentWords, releasedWords } from "../../wire/content-words.ts";
import { fullId } from "../ids/full-id.ts";
import { withBus } from "../operator.ts";
import { answerLine } from "./answer-line.ts";
import { createAnswers } from "./answers.ts";
import { answerArgs, jidArg, readAnswerArgs } from "./args.ts";
import { summaryLine } from "./counts.ts";
import { followJob } from "./follow-job.ts";
import { pendingWords } from "./pending.ts";
import { createResults } from "./results.ts";
import { formatReturns } from "./table.ts";

export const showCommand = command({
  name: "show",
  description: "Show the current status of a job, and the results so far.",
  examples: [
    "svc job show job-3MRx",
    "svc job show job-3MRx --failed",
    "svc job show job-3MRx --peel web-1.example.com",
  ],
  args: {
    jid: jidArg,
    peel: value("id", "Only the result of this peel, complete", { ids: "peels" }),
    ...answerArgs,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const options = readAnswerArgs(args);
      const jid = await fullId("job", args.jid, bus, cli);
      if (args.peel === undefined) {
        const results = createResults(cli, options);
        const { onReturn } = results;
        const { signed: _, ...view } = await followJob(bus, jid, { until: "now", ...defined({ onReturn }) });
        return results.print(view, (view) => formatJob(view, cli.clock.now()));
      }
      const peel = encodePeelId(args.peel);
      const answers = createAnswers({ ...options, full: true });
      const isTable = cli.output === "table";
      const taking = isTable ? { onReturn: answers.take } : {};
      const view = await followJob(bus, jid, { until: "now", peel, ...taking });
      const outcome = view.outcomes[peel] ?? "pending";
      await cli.print(answerLine(view.jid, peel, outcome, view.returns[peel]), () =>
        formatReturns({ ...view, targets: [peel] }, answers, {
          color: cli.color,
          now: cli.clock.now(),
          full: true,
        }),
      );
    }),
});

/** What is known of a job apart from its returns. */
function formatJob(view: JobView, now: number): string {
  const args = Object.entries(view.args).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const metadata = Object.entries(view.metadata).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const fields: [string, string | undefined][] = [
    ["Job", view.jid],
    ["Function", [view.function, ...args].join(" ")],
    ["Files", view.content && contentWords(view.content)],
    ["Released", view.released && releasedWords(view.released)],
    ["Target", view.target ?? view.targets.map(displayPeelId).join(", ")],
    ["Schedule", view.schedule],
    ["Metadata", metadata.length === 0 ? undefined : metadata.join(" ")],
    ["Status", view.status],
    ["Peels", summaryLine(view.counts)],
    ["Complete", view.complete ? undefined : ["no", pendingWords(view, now)].filter(Boolean).join(": ")],
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
