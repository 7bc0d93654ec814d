import { displayPeelId } from "../../base/names/peel-id.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command } from "../../program/command-line/mod.ts";
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
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const { enrollment } = await request(bus, enrollmentOperations.clearClone, {
        id: await enrollmentId(args.id, bus, cli),
      });
      const { id, peel_id } = enrollment;
      await cli.print(enrollment, () => `cleared the clone mark of ${id} (${displayPeelId(peel_id)})`);
    }),
});
