import { command } from "../../program/command-line/mod.ts";
import { untilInterrupted } from "../job/interrupt.ts";
import { withBus } from "../operator.ts";
import { idArg, rolloutId } from "./command-rollout.ts";
import { watchRollout } from "./follow.ts";
import { printRolloutEnd } from "./format.ts";

export const watchCommand = command({
  name: "watch",
  description: "Follow a rollout, wave by wave, until it ends.",
  examples: ["svc rollout watch rol-3MRx"],
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await rolloutId(args.id, bus, cli);
      await printRolloutEnd(await untilInterrupted(cli, (signal) => watchRollout(bus, id, cli, signal)), cli);
    }),
});
