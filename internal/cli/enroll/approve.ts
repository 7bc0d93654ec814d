import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { runDirectly } from "../direct.ts";
import { credsArg, directArg, directSigner, idArg, openForDecisions, withBusFor } from "./ask.ts";
import { decideOnEach, moreArg } from "./each.ts";

export const approveCommand = command({
  name: "approve",
  description: "Approve a pending enrollment, or several. The peel can then fetch its credentials.",
  args: {
    id: { ...idArg, ids: "pending-enrollments" },
    more: moreArg,
    force: { type: "boolean", description: "Approve even if the peel trusted another CA root" },
    "direct-kv": directArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusFor(cli, args, async (bus) => {
      const { approve } = enrollmentsOverBus;
      const signer = args["direct-kv"] === true ? directSigner(cli) : undefined;
      const direct = args["direct-kv"]
        ? { enrollments: await openForDecisions(bus, signer), clock: cli.clock }
        : undefined;
      await decideOnEach(args, cli, "approved", (id) => {
        const input = { id, force: args.force === true };
        return direct === undefined
          ? ask(bus, approve, input)
          : runDirectly(approve.operation, direct, input, cli, signer);
      });
    }),
});
