import { stateOperations, statuses } from "../../fleet/compliance/mod.ts";
import { type Columns, command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import { assertSomeone } from "../nobody.ts";
import { withBus } from "../operator.ts";
import { targetArg } from "../peel-args.ts";
import { type AnswerTo, request } from "../request.ts";
import { checkStale, countPeels, staleArg } from "./args.ts";

const columns: Columns = {
  ENVIRONMENT: "name",
  COMMIT: "text",
  FILES: "spare word",
  ...Object.fromEntries(statuses.map((status) => [status.toUpperCase(), "word"] as const)),
};

export const statusCommand = command({
  name: "status",
  description: "Count the peels that are as described, by the state files of their last run.",
  examples: ["svc states status", "svc states status 'web*' --stale 2h"],
  lists: true,
  args: { target: targetArg, stale: staleArg },
  async run({ target = "*", stale }, cli) {
    const requested = { target, stale: checkStale(stale) };
    await withBus(cli, async (bus) => {
      const found = await request(bus, stateOperations.countStates, requested);
      const { counts, groups, groups_left_out: leftOut = 0 } = found;
      const peels = countPeels(counts);
      if (peels === 0)
        await assertSomeone(bus, target, (id) => request(bus, stateOperations.showStates, { id }));
      await cli.print(found, () => formatGroups(groups, cli));
      if (leftOut > 0) cli.say(`${leftOut} smaller groups are not listed`);
      cli.say(peels === 0 ? "no peels" : `${counts.described} of ${peels} peels are as described`);
    });
  },
});

/** How many peels are as described, a row for the files that they ran. */
export function formatGroups(
  groups: AnswerTo<typeof stateOperations.countStates>["groups"],
  style: TableStyle,
): string {
  return formatTable(
    columns,
    groups.map((group) => [
      group.environment ?? "-",
      shortSnapshot(group.commit || "-"),
      group.snapshot === undefined ? "-" : shortSnapshot(group.snapshot),
      ...statuses.map((status) => String(group[status])),
    ]),
    style,
  );
}
