import { displayPeelId } from "../../base/names/peel-id.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command, value, visible } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { ofMembers } from "../ids/choose-enrollment.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg } from "./connect.ts";

export const suspendCommand = command({
  name: "suspend",
  description: "Suspend a peel. It is disconnected, and its credentials are refused until you resume it.",
  examples: ["svc enroll suspend enr-3MRx --reason 'under examination'"],
  args: {
    id: { ...idArg, ids: "revocable-enrollments" },
    reason: value("text", "Reason, stored in the record"),
    yes: yesArg,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const input = { id: await enrollmentId(args.id, bus, cli, { wanted: ofMembers }), reason: args.reason };
      await confirm(cli, `Suspend ${visible(args.id)}`, args.yes === true);
      const { enrollment } = await request(bus, enrollmentOperations.suspendEnrollment, input);
      const { id, peel_id } = enrollment;
      await cli.print(enrollment, () => `suspended ${id} (${displayPeelId(peel_id)})`);
    }),
});
