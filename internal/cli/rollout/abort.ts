import { command, Exit, flag, visible } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { untilInterrupted } from "../job/interrupt.ts";
import { withBus } from "../operator.ts";
import { commandRollout, idArg } from "./command-rollout.ts";
import { watchRollout } from "./follow.ts";
import { printRollout } from "./format.ts";

export const abortCommand = command({
  name: "abort",
  description: "Abort a rollout. No further wave starts, and the job of the current wave is cancelled.",
  examples: ["svc rollout abort rol-3MRx"],
  args: {
    id: idArg,
    yes: yesArg,
    async: flag("Do not wait until the job of the current wave has ended"),
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const question = `Abort ${visible(args.id)}: no further wave starts, and the job of its wave is cancelled`;
      await confirm(cli, question, args.yes === true);
      const requested = await commandRollout(bus, "abort", args.id, cli);
      if (args.async === true) {
        await cli.print(requested, () => `${requested.id}  ${requested.status}`);
        return cli.say(`${requested.id} ends; watch it with svc rollout watch ${requested.id}`);
      }
      const end = await untilInterrupted(cli, (signal) => watchRollout(bus, requested.id, cli, signal));
      await printRollout(end, cli);
      // It had ended by itself a moment before.
      if (end.status !== "aborted") throw new Exit(1);
    }),
});
