import { rolloutOperations } from "../../fleet/rollout/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg, rolloutId } from "./command-rollout.ts";
import { printRollout } from "./format.ts";

export const showCommand = command({
  name: "show",
  description: "Show the current status of a rollout, its waves and their peels.",
  examples: ["svc rollout show rol-3MRx"],
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await rolloutId(args.id, bus, cli);
      await printRollout((await request(bus, rolloutOperations.getRollout, { id })).view, cli);
    }),
});
