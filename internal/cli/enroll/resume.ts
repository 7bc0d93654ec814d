import { displayPeelId } from "../../base/names/peel-id.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import type { EnrollmentSummary } from "../../fleet/enrollment/record/mod.ts";
import { command, visible } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg } from "./connect.ts";

const suspended = { called: "suspended", fits: ({ trust }: EnrollmentSummary) => trust === "SUSPENDED" };

export const resumeCommand = command({
  name: "resume",
  description: "Resume a suspended peel. Its credentials are valid again, and it connects by itself.",
  examples: ["svc enroll resume enr-3MRx"],
  args: {
    id: { ...idArg, ids: "suspended-enrollments" },
    yes: yesArg,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const input = { id: await enrollmentId(args.id, bus, cli, { wanted: suspended }) };
      await confirm(cli, `Resume ${visible(args.id)}`, args.yes === true);
      const { enrollment } = await request(bus, enrollmentOperations.resumeEnrollment, input);
      const { id, peel_id } = enrollment;
      await cli.print(enrollment, () => `resumed ${id} (${displayPeelId(peel_id)})`);
    }),
});
