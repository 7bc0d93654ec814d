import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { tampered } from "../ids/choose-enrollment.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg } from "./connect.ts";

export const discardCommand = command({
  name: "discard",
  description: "Remove a TAMPERED enrollment of which no valid revision is left.",
  examples: ["svc enroll discard enr-3MRx"],
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const discarded = await request(bus, enrollmentOperations.discardEnrollment, {
        id: await enrollmentId(args.id, bus, cli, { wanted: tampered }),
      });
      await cli.print(discarded, () => `discarded ${discarded.id}`);
    }),
});
