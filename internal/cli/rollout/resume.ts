import { command } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { commandRollout, idArg } from "./command-rollout.ts";

export const resumeCommand = command({
  name: "resume",
  description: "Resume a paused rollout.",
  examples: ["svc rollout resume rol-3MRx"],
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const rollout = await commandRollout(bus, "resume", args.id, cli);
      const { id, status } = rollout;
      await cli.print(rollout, () => `${id}  ${status}`);
      cli.say(`${id} continues; watch it with svc rollout watch ${id}`);
    }),
});
