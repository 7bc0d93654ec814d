import { readCall } from "../../host/modules/read-call.ts";
import { command } from "../../program/command-line/command.ts";
import { withBus } from "../operator.ts";
import { printRolloutEnd } from "./format.ts";
import { launchRollout, readMode, readPlan } from "./launch.ts";
import { planArgs } from "./plan-args.ts";

export const startCommand = command({
  name: "start",
  description: "Run a function on a canary, then wave by wave for as long as it goes well.",
  args: {
    target: {
      type: "positional",
      required: true,
      description: "Which peels: a glob on the peel id, such as 'web-*', or a compound expression",
      ids: "members",
    },
    function: { type: "positional", required: true, description: "module.function, such as state.apply" },
    args: {
      type: "positional",
      rest: true,
      description: "Its arguments, in their order or as name=value; words behind -- are taken as they are",
    },
    timeout: {
      type: "string",
      valueHint: "duration",
      default: "60s",
      description: "Of each wave: after this time no peel begins, and what still runs is stopped",
    },
    ...planArgs,
  },
  async run(args, cli) {
    const mode = readMode(args);
    const request = { target: args.target, ...readCall(args.function, args.args), ...readPlan(args) };
    await withBus(cli, async (bus) => {
      const view = await launchRollout(bus, request, mode, cli);
      if (view !== undefined) await printRolloutEnd(view, cli);
    });
  },
});
