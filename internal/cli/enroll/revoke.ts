import { openBucket } from "../../bus/bucket.ts";
import { toStored } from "../../fleet/enrollment/record.ts";
import { writeRevocation } from "../../fleet/enrollment/revocations.ts";
import { revokeRecord } from "../../fleet/enrollment/revoke.ts";
import { displayPeelId } from "../../identity/peel-id.ts";
import { command } from "../../program/command-line/command.ts";
import { operatorName, withBus } from "../operator.ts";
import { askMaster, directArg, idArg, openEnrollments } from "./ask.ts";

export const revokeCommand = command({
  name: "revoke",
  description: "Revoke an enrollment. The peel is disconnected, and its credentials become invalid.",
  args: {
    id: { ...idArg, ids: "revocable-enrollments" },
    reason: { type: "string", valueHint: "text", description: "Reason, stored in the record" },
    wait: { type: "boolean", description: "Wait until the peel is disconnected, and show how long it took" },
    "direct-kv": directArg,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const request = { id: args.id, reason: args.reason };
      if (args["direct-kv"]) {
        const revocations = await openBucket(bus, "revocations");
        const deps = {
          enrollments: await openEnrollments(bus),
          revocations: {
            add: (entry: Parameters<typeof writeRevocation>[1]) => writeRevocation(revocations, entry),
          },
          clock: cli.clock,
        };
        const record = await revokeRecord(deps, { ...request, operator: operatorName() });
        await cli.print(toStored(record), () => `revoked ${record.id} (${displayPeelId(record.peelId)})`);
        cli.say("written to storage: the connection is closed as soon as a master runs");
        return;
      }
      const { record, closedInMs } = await askMaster(bus, "revoke", request);
      const data = toStored(record);
      const line = `revoked ${record.id} (${displayPeelId(record.peelId)})`;
      if (args.wait !== true) return cli.print(data, () => line);
      const closed =
        closedInMs === undefined
          ? "it had no live connection"
          : `connection closed after ${closedInMs.toFixed(1)} ms`;
      await cli.print({ ...data, closed_in_ms: closedInMs }, () => `${line}: ${closed}`);
    }),
});
