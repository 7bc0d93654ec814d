import { approve } from "../../fleet/enrollment/approve.ts";
import { toStored } from "../../fleet/enrollment/record.ts";
import { displayPeelId } from "../../identity/peel-id.ts";
import { command } from "../../program/command-line/command.ts";
import { operatorName, withBus } from "../operator.ts";
import { askMaster, directArg, idArg, openEnrollments } from "./ask.ts";

export const approveCommand = command({
  name: "approve",
  description: "Approve a pending enrollment. The peel can then fetch its credentials.",
  args: {
    id: { ...idArg, ids: "pending-enrollments" },
    force: { type: "boolean", description: "Approve even if the peel trusted another CA root" },
    "direct-kv": directArg,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const request = { id: args.id, force: args.force === true };
      const record = args["direct-kv"]
        ? await approve(
            { enrollments: await openEnrollments(bus), clock: cli.clock },
            { ...request, operator: operatorName() },
          )
        : (await askMaster(bus, "approve", request)).record;
      await cli.print(toStored(record), () => `approved ${record.id} (${displayPeelId(record.peelId)})`);
    }),
});
