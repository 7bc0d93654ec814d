import { displayPeelId } from "../../base/peel-id.ts";
import { type Bus, openBucket } from "../../bus/mod.ts";
import { type RevokeOperationDeps, writeRevocation } from "../../fleet/enrollment/mod.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { type Cli, command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { runDirectly } from "../direct.ts";
import { credsArg, directArg, idArg, openForDecisions, withBusFor } from "./ask.ts";

export const revokeCommand = command({
  name: "revoke",
  description: "Revoke an enrollment. The peel is disconnected, and its credentials become invalid.",
  args: {
    id: { ...idArg, ids: "revocable-enrollments" },
    reason: { type: "string", valueHint: "text", description: "Reason, stored in the record" },
    wait: { type: "boolean", description: "Wait until the peel is disconnected, and show how long it took" },
    "direct-kv": directArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusFor(cli, args, async (bus) => {
      const { revoke } = enrollmentsOverBus;
      const input = { id: args.id, reason: args.reason };
      const isDirect = args["direct-kv"] === true;
      const { enrollment, closed_in_ms } = isDirect
        ? await runDirectly(revoke.operation, await storageOf(bus, cli), input, cli)
        : await ask(bus, revoke, input);
      const line = `revoked ${enrollment.id} (${displayPeelId(enrollment.peel_id)})`;
      if (isDirect || args.wait !== true) {
        await cli.print(enrollment, () => line);
        if (isDirect) cli.say("written to storage: the connection is closed as soon as a master runs");
        return;
      }
      const closed =
        closed_in_ms === undefined
          ? "it had no live connection"
          : `connection closed after ${closed_in_ms.toFixed(1)} ms`;
      await cli.print({ ...enrollment, closed_in_ms }, () => `${line}: ${closed}`);
    }),
});

/** What is written to without a master. */
async function storageOf(bus: Bus, { clock }: Pick<Cli, "clock">): Promise<RevokeOperationDeps> {
  const revocations = await openBucket(bus, "revocations");
  return {
    enrollments: await openForDecisions(bus),
    revocations: { add: (entry) => writeRevocation(revocations, entry) },
    clock,
  };
}
