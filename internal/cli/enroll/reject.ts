import { displayPeelId } from "../../base/peel-id.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { runDirectly } from "../direct.ts";
import { credsArg, directArg, idArg, openForDecisions, withBusFor } from "./ask.ts";

export const rejectCommand = command({
  name: "reject",
  description: "Reject a pending enrollment. The peel does not get credentials.",
  args: {
    id: { ...idArg, ids: "pending-enrollments" },
    reason: { type: "string", valueHint: "text", description: "Reason, stored in the record" },
    "direct-kv": directArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusFor(cli, args, async (bus) => {
      const { reject } = enrollmentsOverBus;
      const input = { id: args.id, reason: args.reason };
      const { enrollment } = args["direct-kv"]
        ? await runDirectly(
            reject.operation,
            { enrollments: await openForDecisions(bus), clock: cli.clock },
            input,
            cli,
          )
        : await ask(bus, reject, input);
      const { id, peel_id } = enrollment;
      await cli.print(enrollment, () => `rejected ${id} (${displayPeelId(peel_id)})`);
    }),
});
