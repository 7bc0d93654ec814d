import { SvcError } from "../../base/errors.ts";
import { command, formatTable, readFlag, readListFlag } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { columns, readColumn, rowOf, sortPeels, usualColumns } from "./columns.ts";
import { readPeels } from "./read-peels.ts";

export const listCommand = command({
  name: "list",
  description: "List the peels of the fleet, or those of a target, from the memory of a master.",
  args: {
    target: {
      type: "positional",
      required: false,
      ids: "members",
      description: "Which peels, such as 'web*' or 'G@os:Debian' (default: all)",
    },
    columns: {
      type: "string",
      valueHint: "names",
      description: `Columns of the table, with commas between them: ${columns.join(", ")}`,
    },
    sort: { type: "string", valueHint: "column", default: "id", description: "Column to sort by" },
    alive: { type: "boolean", description: "Only peels that are alive" },
    silent: { type: "boolean", description: "Only peels that are not" },
  },
  async run(args, cli) {
    const named = readListFlag("--columns", args.columns, readColumn);
    const chosen = named.length === 0 ? usualColumns : named;
    const sort = readFlag("--sort", args.sort, readColumn);
    if (args.alive === true && args.silent === true) {
      throw new SvcError("usage", "--alive and --silent exclude each other");
    }
    await withBus(cli, async (bus) => {
      const target = args.target ?? "*";
      const all = await readPeels(bus, target);
      const wanted = all.filter(({ alive }) => (alive ? args.silent !== true : args.alive !== true));
      const found = sortPeels(wanted, sort);
      const now = cli.clock.now();
      await cli.print(found, () =>
        formatTable(
          chosen.map((name) => name.toUpperCase().replaceAll("_", " ")),
          found.map((peel) => rowOf(peel, chosen, now)),
          cli,
        ),
      );
      if (found.length === 0) cli.say(all.length === 0 ? "no peels" : "none of these peels");
    });
  },
});
