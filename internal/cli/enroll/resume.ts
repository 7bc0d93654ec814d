import { displayPeelId } from "../../base/peel-id.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";
import { idArg } from "./ask.ts";

export const resumeCommand = command({
  name: "resume",
  description: "Resume a suspended peel. Its credentials are valid again, and it connects by itself.",
  args: {
    id: { ...idArg, ids: "suspended-enrollments" },
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const input = { id: args.id };
      const { enrollment } = await ask(bus, enrollmentsOverBus.resume, input);
      const { id, peel_id } = enrollment;
      await cli.print(enrollment, () => `resumed ${id} (${displayPeelId(peel_id)})`);
    }),
});
