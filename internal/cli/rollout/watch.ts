import { command } from "../../program/command-line/mod.ts";
import { untilInterrupted } from "../job/interrupt.ts";
import { withBus } from "../operator.ts";
import { checkedId, idArg } from "./ask.ts";
import { watchRollout } from "./follow.ts";
import { printRolloutEnd } from "./format.ts";
import { openRollouts } from "./storage.ts";

export const watchCommand = command({
  name: "watch",
  description: "Follow a rollout, wave by wave, until it ends.",
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const deps = await openRollouts(bus, cli);
      const id = checkedId(args.id);
      await printRolloutEnd(
        await untilInterrupted(cli, (signal) => watchRollout(deps, id, cli, signal)),
        cli,
      );
    }),
});
