import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command, visible } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { tampered } from "../ids/choose-enrollment.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg } from "./connect.ts";

export const discardCommand = command({
  name: "discard",
  description: "Remove a TAMPERED enrollment of which no valid revision is left.",
  examples: ["svc enroll discard enr-3MRx"],
  args: { id: idArg, yes: yesArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const input = { id: await enrollmentId(args.id, bus, cli, { wanted: tampered }) };
      await confirm(cli, `Discard the enrollment ${visible(args.id)}`, args.yes === true);
      const discarded = await request(bus, enrollmentOperations.discardEnrollment, input);
      await cli.print(discarded, () => `discarded ${discarded.id}`);
    }),
});
