import { toStored } from "../../fleet/enrollment/record.ts";
import { reject } from "../../fleet/enrollment/reject.ts";
import { displayPeelId } from "../../identity/peel-id.ts";
import { command } from "../../program/command-line/command.ts";
import { operatorName, withBus } from "../operator.ts";
import { askMaster, directArg, idArg, openEnrollments } from "./ask.ts";

export const rejectCommand = command({
  name: "reject",
  description: "Reject a pending enrollment. The peel does not get credentials.",
  args: {
    id: { ...idArg, ids: "pending-enrollments" },
    reason: { type: "string", valueHint: "text", description: "Reason, stored in the record" },
    "direct-kv": directArg,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const request = { id: args.id, reason: args.reason };
      const record = args["direct-kv"]
        ? await reject(
            { enrollments: await openEnrollments(bus), clock: cli.clock },
            { ...request, operator: operatorName() },
          )
        : (await askMaster(bus, "reject", request)).record;
      await cli.print(toStored(record), () => `rejected ${record.id} (${displayPeelId(record.peelId)})`);
    }),
});
