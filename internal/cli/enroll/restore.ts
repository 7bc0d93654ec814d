import { displayPeelId } from "../../base/names/peel-id.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command, visible } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { tampered } from "../ids/choose-enrollment.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg } from "./connect.ts";

export const restoreCommand = command({
  name: "restore",
  description: "Put back the last revision of a TAMPERED enrollment that a master made.",
  examples: ["svc enroll restore enr-3MRx"],
  args: { id: idArg, yes: yesArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const input = { id: await enrollmentId(args.id, bus, cli, { wanted: tampered }) };
      await confirm(cli, `Restore the enrollment ${visible(args.id)}`, args.yes === true);
      const { enrollment } = await request(bus, enrollmentOperations.restoreEnrollment, input);
      const { id, peel_id, state } = enrollment;
      await cli.print(enrollment, () => `restored ${id} (${displayPeelId(peel_id)}): ${state}`);
    }),
});
