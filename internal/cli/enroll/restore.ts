import { displayPeelId } from "../../base/names/peel-id.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { tampered } from "../ids/choose-enrollment.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg } from "./connect.ts";

export const restoreCommand = command({
  name: "restore",
  description: "Put back the last revision of a TAMPERED enrollment that a master made.",
  examples: ["svc enroll restore enr-3MRx"],
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const { enrollment } = await request(bus, enrollmentOperations.restoreEnrollment, {
        id: await enrollmentId(args.id, bus, cli, { wanted: tampered }),
      });
      const { id, peel_id, state } = enrollment;
      await cli.print(enrollment, () => `restored ${id} (${displayPeelId(peel_id)}): ${state}`);
    }),
});
