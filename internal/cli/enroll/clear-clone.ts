import { displayPeelId } from "../../base/names/peel-id.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command, visible } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg } from "./connect.ts";

export const clearCloneCommand = command({
  name: "clear-clone",
  description:
    "Remove the mark that two hosts appear to hold the identity of a peel, or that a copy of its host asked to join.",
  examples: ["svc enroll clear-clone enr-3MRx"],
  args: {
    id: { ...idArg, ids: "cloned-enrollments" },
    yes: yesArg,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const input = { id: await enrollmentId(args.id, bus, cli) };
      await confirm(cli, `Clear the clone mark of ${visible(args.id)}`, args.yes === true);
      const { enrollment } = await request(bus, enrollmentOperations.clearClone, input);
      const { id, peel_id } = enrollment;
      await cli.print(enrollment, () => `cleared the clone mark of ${id} (${displayPeelId(peel_id)})`);
    }),
});
