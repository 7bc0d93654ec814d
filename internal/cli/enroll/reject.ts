import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command, value } from "../../program/command-line/mod.ts";
import { credsArg, directArg, idArg, openForDecisions, withBusToDecide } from "./connect.ts";
import { decide, moreArg } from "./decide.ts";
import { doorOf } from "./door.ts";
import { selectionArgs } from "./select.ts";

const { rejectEnrollment: reject } = enrollmentOperations;

export const rejectCommand = command({
  name: "reject",
  description:
    "Reject pending enrollments: those that you name, or that the options select. The peels do not get credentials.",
  examples: [
    "svc enroll reject enr-3MRx --reason 'not one of ours'",
    "svc enroll reject --address 203.0.113.0/24",
  ],
  args: {
    id: { ...idArg, required: false, ids: "pending-enrollments" },
    more: moreArg,
    ...selectionArgs,
    reason: value("text", "Reason, stored in the record"),
    "direct-kv": directArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusToDecide(cli, args, async (bus) => {
      const { reason } = args;
      const { clock } = cli;
      const rejectOne = await doorOf(
        bus,
        cli,
        reject,
        args["direct-kv"] === true
          ? async (signer) => ({ enrollments: await openForDecisions(bus, signer), clock })
          : undefined,
      );
      await decide(args, bus, cli, {
        ...{ verb: "reject", done: "rejected", states: ["pending"] },
        leavesOut: new Set(["TAMPERED"]),
        decide: async (id) => (await rejectOne({ id, reason })).enrollment,
      });
    }),
});
