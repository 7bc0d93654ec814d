import { command } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { commandRollout, idArg } from "./command-rollout.ts";

export const pauseCommand = command({
  name: "pause",
  description: "Pause a rollout. The current wave continues to its end, and no further wave starts.",
  examples: ["svc rollout pause rol-3MRx"],
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const rollout = await commandRollout(bus, "pause", args.id, cli);
      const { id, status } = rollout;
      await cli.print(rollout, () => `${id}  ${status}`);
      cli.say(`${id} starts no further wave; continue with svc rollout resume ${id}`);
    }),
});
