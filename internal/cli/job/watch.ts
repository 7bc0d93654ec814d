import { command } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { jidArg } from "./ask.ts";
import { printEnd, watchJob } from "./follow.ts";
import { untilInterrupted } from "./interrupt.ts";
import { openJobs } from "./storage.ts";

export const watchCommand = command({
  name: "watch",
  description: "Follow a job until it ends, and show the results.",
  args: { jid: { ...jidArg, ids: "running-jobs" } },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const deps = await openJobs(bus, cli);
      await printEnd(await untilInterrupted(cli, (signal) => watchJob(deps, args.jid, cli, signal)), cli);
    }),
});
