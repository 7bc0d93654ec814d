import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import { jobsOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";
import { jidArg } from "./ask.ts";
import { summaryLine } from "./counts.ts";
import { watchJob } from "./follow.ts";
import { untilInterrupted } from "./interrupt.ts";
import { openJobs } from "./storage.ts";
import { formatReturns } from "./table.ts";

export const cancelCommand = command({
  name: "cancel",
  description:
    "Cancel a job. Peels that have not started do not start it, and running functions are stopped.",
  args: {
    jid: { ...jidArg, ids: "running-jobs" },
    wait: {
      type: "boolean",
      description: "Wait until the job has ended on every peel, and show the results",
    },
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      // It becomes a part of the subject.
      if (!isId("job", args.jid)) throw new SvcError("not_found", "no job with this id");
      const { job: view } = await ask(bus, jobsOverBus.cancel, { jid: args.jid });
      if (args.wait !== true) {
        await cli.print(view, () => `cancelled ${view.jid}`);
        return cli.say(summaryLine(view.counts));
      }
      const deps = await openJobs(bus, cli);
      const end = await untilInterrupted(cli, (signal) => watchJob(deps, view.jid, cli, signal));
      await cli.print(end, () => formatReturns(end, cli));
      cli.say(summaryLine(end.counts));
    }),
});
