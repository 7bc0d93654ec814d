import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { runDirectly } from "../direct.ts";
import { credsArg, directArg, directSigner, idArg, openForDecisions, withBusFor } from "./ask.ts";
import { decideOnEach, moreArg } from "./each.ts";

export const rejectCommand = command({
  name: "reject",
  description: "Reject a pending enrollment, or several. The peel does not get credentials.",
  args: {
    id: { ...idArg, ids: "pending-enrollments" },
    more: moreArg,
    reason: { type: "string", valueHint: "text", description: "Reason, stored in the record" },
    "direct-kv": directArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusFor(cli, args, async (bus) => {
      const { reject } = enrollmentsOverBus;
      const signer = args["direct-kv"] === true ? directSigner(cli) : undefined;
      const direct = args["direct-kv"]
        ? { enrollments: await openForDecisions(bus, signer), clock: cli.clock }
        : undefined;
      await decideOnEach(args, cli, "rejected", (id) => {
        const input = { id, reason: args.reason };
        return direct === undefined
          ? ask(bus, reject, input)
          : runDirectly(reject.operation, direct, input, cli, signer);
      });
    }),
});
