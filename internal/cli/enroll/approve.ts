import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command, flag } from "../../program/command-line/mod.ts";
import { credsArg, directArg, idArg, openForDecisions, withBusToDecide } from "./connect.ts";
import { decide, moreArg } from "./decide.ts";
import { doorOf } from "./door.ts";
import { noticesOfLabels } from "./former-labels.ts";
import { selectionArgs } from "./select.ts";

const { approveEnrollment: approve } = enrollmentOperations;

export const approveCommand = command({
  name: "approve",
  description:
    "Approve pending enrollments: those that you name, or that the options select. The peels can then fetch their credentials.",
  examples: [
    "svc enroll approve web-1.example.com",
    "svc enroll approve --match 'web-*' --address 10.20.0.0/16",
    "svc enroll approve --all --evidence tpm --yes",
  ],
  args: {
    id: { ...idArg, required: false, ids: "pending-enrollments" },
    more: moreArg,
    ...selectionArgs,
    force: flag("Approve those that are named by id even if the peel trusted another CA root"),
    "drop-labels": flag("Approve without the labels that the enrollment of the host before had"),
    "direct-kv": directArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusToDecide(cli, args, async (bus) => {
      const { clock } = cli;
      const isDirect = args["direct-kv"] === true;
      const drops = args["drop-labels"] === true;
      const approveOne = await doorOf(
        bus,
        cli,
        approve,
        isDirect
          ? async (signer) => ({ enrollments: await openForDecisions(bus, signer), clock })
          : undefined,
      );
      await decide(args, bus, cli, {
        ...{ verb: "approve", done: "approved", states: ["pending"] },
        ...{ leavesOut: new Set(["MISMATCH!", "TAMPERED"]), leavesContested: true },
        ...noticesOfLabels(bus, { isDirect, drops }),
        async decide(id, isNamed) {
          const force = isNamed && args.force === true;
          const { enrollment, rejected = [] } = await approveOne({
            ...{ id, force },
            ...(drops ? { drop_labels: true } : {}),
          });
          for (const other of rejected) {
            cli.say(`rejected ${other}, which waited under the same peel id`);
          }
          return enrollment;
        },
      });
    }),
});
