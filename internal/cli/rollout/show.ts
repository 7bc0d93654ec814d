import { openBucket } from "../../bus/mod.ts";
import { rolloutDoors } from "../../fleet/rollout/doors.ts";
import { showRollout } from "../../fleet/rollout/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { hinted } from "../hints.ts";
import { withBus } from "../operator.ts";
import { idArg, rolloutId } from "./ask.ts";
import { printRollout } from "./format.ts";

export const showCommand = command({
  name: "show",
  description: "Show the current status of a rollout, its waves and their peels.",
  examples: ["svc rollout show rol-3MRx"],
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await rolloutId(args.id, bus, cli);
      const rollouts = await openBucket(bus, "rollouts");
      await printRollout(
        await hinted(rolloutDoors.getRollout.hints.svc, () => showRollout(rollouts, id)),
        cli,
      );
    }),
});
