import { displayPeelId } from "../../base/peel-id.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { runDirectly } from "../direct.ts";
import { credsArg, directArg, idArg, openForDecisions, withBusFor } from "./ask.ts";

export const approveCommand = command({
  name: "approve",
  description: "Approve a pending enrollment. The peel can then fetch its credentials.",
  args: {
    id: { ...idArg, ids: "pending-enrollments" },
    force: { type: "boolean", description: "Approve even if the peel trusted another CA root" },
    "direct-kv": directArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusFor(cli, args, async (bus) => {
      const { approve } = enrollmentsOverBus;
      const input = { id: args.id, force: args.force === true };
      const { enrollment } = args["direct-kv"]
        ? await runDirectly(
            approve.operation,
            { enrollments: await openForDecisions(bus), clock: cli.clock },
            input,
            cli,
          )
        : await ask(bus, approve, input);
      const { id, peel_id } = enrollment;
      await cli.print(enrollment, () => `approved ${id} (${displayPeelId(peel_id)})`);
    }),
});
