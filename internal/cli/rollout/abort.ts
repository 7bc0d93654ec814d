import { command, Exit, flag } from "../../program/command-line/mod.ts";
import { untilInterrupted } from "../job/interrupt.ts";
import { withBus } from "../operator.ts";
import { commandRollout, idArg } from "./ask.ts";
import { watchRollout } from "./follow.ts";
import { printRollout } from "./format.ts";

export const abortCommand = command({
  name: "abort",
  description: "Abort a rollout. No further wave starts, and the job of the current wave is cancelled.",
  examples: ["svc rollout abort rol-3MRx"],
  args: {
    id: idArg,
    async: flag("Do not wait until the job of the current wave has ended"),
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const asked = await commandRollout(bus, "abort", args.id, cli);
      if (args.async === true) {
        await cli.print(asked, () => `${asked.id}  ${asked.status}`);
        return cli.say(`${asked.id} ends; watch it with svc rollout watch ${asked.id}`);
      }
      const end = await untilInterrupted(cli, (signal) => watchRollout(bus, asked.id, cli, signal));
      await printRollout(end, cli);
      // It had ended by itself a moment before.
      if (end.status !== "aborted") throw new Exit(1);
    }),
});
