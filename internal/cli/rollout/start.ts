import { readCall } from "../../host/modules/mod.ts";
import { command, value, word } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { confirmStart } from "./confirm-start.ts";
import { printRolloutEnd } from "./format.ts";
import { launchRollout, readMode, readPlan } from "./launch.ts";
import { planArgs } from "./plan-args.ts";

export const startCommand = command({
  name: "start",
  description: "Run a function on a canary, then in waves as long as they succeed.",
  examples: [
    "svc rollout start 'web-*' state.apply nginx",
    "svc rollout start 'T@env:prod' pkg.upgrade --canary 2 --waves 10%,25% --check 'service.status name=nginx'",
    "svc rollout start '*' state.highstate --dry-run",
  ],
  args: {
    target: word("Target: a glob on the peel id, such as 'web-*', or a compound expression", {
      required: true,
      ids: "members",
    }),
    function: word("module.function, such as state.apply", { required: true, ids: "functions" }),
    args: word("Arguments, positional or as name=value; words after -- are passed literally", {
      rest: true,
      ids: "arguments",
    }),
    timeout: value(
      "duration",
      "Timeout of each wave: after it no peel starts, and running functions are stopped",
      { default: "60s" },
    ),
    ...planArgs,
  },
  async run(args, cli) {
    const mode = readMode(args);
    const request = { target: args.target, ...readCall(args.function, args.args), ...readPlan(args) };
    await withBus(cli, async (bus) => {
      const does = `Roll out ${request.function}`;
      await confirmStart(bus, request, { does, mode, isConfirmed: args.yes === true }, cli);
      const view = await launchRollout(bus, request, mode, cli);
      if (view !== undefined) await printRolloutEnd(view, cli);
    });
  },
});
