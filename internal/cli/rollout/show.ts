import { openBucket } from "../../bus/bucket.ts";
import { showRollout } from "../../fleet/rollout/show.ts";
import { command } from "../../program/command-line/command.ts";
import { withBus } from "../operator.ts";
import { checkedId, idArg } from "./ask.ts";
import { printRollout } from "./format.ts";

export const showCommand = command({
  name: "show",
  description: "Show the current status of a rollout, its waves and their peels.",
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      await printRollout(await showRollout(await openBucket(bus, "rollouts"), checkedId(args.id)), cli);
    }),
});
