import { command } from "../../program/command-line/command.ts";
import { planArgs } from "../rollout/plan-args.ts";

/** Stands at the top of the tree, so what it needs is only loaded when it runs. */
export const upgradeCommand = command({
  name: "upgrade",
  description: "Change peels over to another svc-peel, wave by wave; each goes back when that does not work.",
  args: {
    target: {
      type: "positional",
      required: true,
      description: "Which peels: a glob on the peel id, such as 'web-*', or a compound expression",
      ids: "members",
    },
    binary: {
      type: "string",
      valueHint: "file",
      required: true,
      description: "The svc-peel to change over to, for the platform of these peels",
    },
    "ready-within": {
      type: "string",
      valueHint: "duration",
      default: "2m",
      description: "A peel goes back when the new one is not connected and ready by then, 5s to 30m",
    },
    timeout: {
      type: "string",
      valueHint: "duration",
      default: "15m",
      description: "Of each wave: to fetch the binary and to become ready",
    },
    ...planArgs,
  },
  async run(args, cli) {
    const { runUpgrade } = await import("./run.ts");
    await runUpgrade(args, cli);
  },
});
