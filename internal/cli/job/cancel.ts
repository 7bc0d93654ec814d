import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { command, flag, visible } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { withHint } from "../hints.ts";
import { fullId } from "../ids/full-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { answerArgs, jidArg, readAnswerArgs } from "./args.ts";
import { summaryLine } from "./counts.ts";
import { watchJob } from "./follow.ts";
import { untilInterrupted } from "./interrupt.ts";
import { createResults } from "./results.ts";

export const cancelCommand = command({
  name: "cancel",
  description:
    "Cancel a job. Peels that have not started do not start it, and running functions are stopped.",
  examples: ["svc job cancel job-3MRx --wait"],
  args: {
    jid: { ...jidArg, ids: "running-jobs" },
    wait: flag("Wait until the job has ended on every peel, and show the results"),
    yes: yesArg,
    ...answerArgs,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      // It becomes a part of the subject.
      const jid = await fullId("job", args.jid, bus, cli);
      if (!isId("job", jid))
        throw withHint(
          jobOperations.cancelJob.hints.svc,
          new SvcError("not_found", "the job does not exist"),
        );
      await confirm(
        cli,
        `Cancel ${visible(args.jid)}: it starts on no other peel, and is stopped where it runs`,
        args.yes === true,
      );
      const { job: view } = await request(bus, jobOperations.cancelJob, { jid });
      if (args.wait !== true) {
        await cli.print(view, () => `cancelled ${view.jid}`);
        return cli.say(summaryLine(view.counts));
      }
      const results = createResults(cli, readAnswerArgs(args));
      const end = await untilInterrupted(cli, (signal) =>
        watchJob(bus, results, view.jid, cli, signal, { isKnown: true }),
      );
      await results.print(end);
      cli.say(summaryLine(end.counts));
    }),
});
