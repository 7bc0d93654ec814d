import { displayPeelId } from "../../base/peel-id.ts";
import {
  type EnrollmentState,
  enrollmentStates,
  readEnrollments,
  summarize,
} from "../../fleet/enrollment/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { openEnrollments } from "./ask.ts";

export const listCommand = command({
  name: "list",
  description: "List enrollments, newest first.",
  args: {
    state: {
      type: "enum",
      options: [...enrollmentStates, "all"],
      default: "pending",
      description: "Only enrollments in this state",
    },
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const state = args.state as EnrollmentState | "all";
      const found = (await readEnrollments(await openEnrollments(bus)))
        .filter((record) => state === "all" || record.state === state)
        .reverse()
        .map(summarize);
      await cli.print(found, () =>
        formatTable(
          ["ID", "PEEL ID", "HOSTNAME", "STATE", "TRUST", "FINGERPRINT", "CREATED"],
          found.map((one) => [
            one.id,
            displayPeelId(one.peel_id),
            one.hostname,
            one.state,
            one.trust,
            one.fingerprint,
            one.created_at,
          ]),
          cli,
        ),
      );
      if (found.length === 0)
        cli.say(state === "all" ? "no enrollments" : `no enrollments in state ${state}`);
    }),
});
