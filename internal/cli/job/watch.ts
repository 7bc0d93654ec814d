import { command } from "../../program/command-line/mod.ts";
import { fullId } from "../ids/full-id.ts";
import { withBus } from "../operator.ts";
import { answerArgs, jidArg, readAnswerArgs } from "./args.ts";
import { printEnd, watchJob } from "./follow.ts";
import { untilInterrupted } from "./interrupt.ts";
import { createResults } from "./results.ts";

export const watchCommand = command({
  name: "watch",
  description: "Follow a job until it ends, and show the results.",
  examples: ["svc job watch job-3MRx"],
  args: { jid: { ...jidArg, ids: "running-jobs" }, ...answerArgs },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const jid = await fullId("job", args.jid, bus, cli);
      const results = createResults(cli, readAnswerArgs(args));
      const end = await untilInterrupted(cli, (signal) => watchJob(bus, results, jid, cli, signal));
      await printEnd(results, end, cli);
    }),
});
