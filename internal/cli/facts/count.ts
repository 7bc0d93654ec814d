import type { Plain } from "../../base/msgpack.ts";
import { maxCounted, peelOperations } from "../../fleet/peels/mod.ts";
import { command, formatTable, readListFlag, type TableStyle, word } from "../../program/command-line/mod.ts";
import { assertSomeone } from "../nobody.ts";
import { withBus } from "../operator.ts";
import { targetArg } from "../peel-args.ts";
import { request } from "../request.ts";
import { factCell, factColumns } from "./cell.ts";

export const countCommand = command({
  name: "count",
  description: "Count peels by their facts, the largest groups first.",
  examples: ["svc facts count os,osrelease", "svc facts count init 'web-*'"],
  args: {
    facts: word(`Facts with commas between them, at most ${maxCounted}, such as os,osrelease`, {
      required: true,
      ids: "facts",
    }),
    target: targetArg,
  },
  async run({ facts, target = "*" }, cli) {
    const names = [...new Set(readListFlag("FACTS", facts, (name) => name))];
    await withBus(cli, async (bus) => {
      const counted = await request(bus, peelOperations.countFacts, { by: names.join(","), target });
      const { groups, other_groups: more, other_peels: others } = counted;
      if (groups.length === 0)
        await assertSomeone(bus, target, (id) => request(bus, peelOperations.showPeel, { id }));
      await cli.print(
        counted,
        () => formatGroups(names, groups, cli),
        () => ({
          header: ["peels", ...names],
          rows: groups.map(({ peels, facts: shared }) => [peels, ...names.map((name) => shared[name])]),
        }),
      );
      if (groups.length === 0) cli.say("no peels");
      if (more !== undefined) cli.say(`${more} more groups with ${others} peels: count those of a target`);
    });
  },
});

/** How many peels share some facts, a row for each group. */
export function formatGroups(
  names: readonly string[],
  groups: readonly { peels: number; facts: Readonly<Record<string, Plain>> }[],
  style: TableStyle,
): string {
  return formatTable(
    { PEELS: "word", ...factColumns(names) },
    groups.map(({ peels, facts }) => [`${peels}`, ...names.map((name) => factCell(facts[name]))]),
    style,
  );
}
