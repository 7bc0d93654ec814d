import { approvalsOverBus } from "../../fleet/over-bus/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";

export const listCommand = command({
  name: "list",
  description: "List the requests that wait for other operators, and those that waited.",
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const { approvals } = await ask(bus, approvalsOverBus.list, {});
      await cli.print(approvals, () =>
        formatTable(
          ["ID", "STATE", "OPERATION", "BY", "AGREED", "EXPIRES"],
          approvals.map(({ id, state, operation, asked_by, agreed, needs, expires_at, outcome }) => [
            ...[id, outcome === "failed" ? "failed" : state, operation, asked_by],
            `${agreed.length}/${needs}`,
            expires_at,
          ]),
          cli,
        ),
      );
      if (approvals.length === 0) cli.say("no requests wait");
    }),
});
