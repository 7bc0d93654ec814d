import { SvcError } from "../../base/errors.ts";
import { peelOperations } from "../../fleet/peels/mod.ts";
import {
  choice,
  command,
  flag,
  outputFormats,
  readFlag,
  readListFlag,
  value,
} from "../../program/command-line/mod.ts";
import { assertSomeone } from "../nobody.ts";
import { withBus } from "../operator.ts";
import { targetArg } from "../peel-args.ts";
import { request } from "../request.ts";
import {
  columns,
  csvRowOf,
  dataColumns,
  formatPeels,
  headsOf,
  isUsual,
  readColumn,
  sortPeels,
  tableColumns,
  usualColumns,
} from "./columns.ts";
import { printInventory } from "./print-inventory.ts";
import { readPeels } from "./read-peels.ts";

export const listCommand = command({
  name: "list",
  description: "List the peels of the fleet, or those of a target, from the memory of a master.",
  examples: [
    "svc peels list",
    "svc peels list 'G@os:Debian and T@env:prod' --silent",
    "svc peels list --columns id,os,address --sort os",
  ],
  args: {
    target: targetArg,
    columns: value(
      "names",
      `Columns of the table or of CSV, with commas between them: ${columns.join(", ")}`,
      { ids: "columns" },
    ),
    sort: value("column", "Column to sort by", { ids: "columns", default: "id" }),
    alive: flag("Only peels that are alive"),
    silent: flag("Only peels that are not"),
    output: choice([...outputFormats, "ansible"], "Output format; ansible is an inventory", {
      default: "table",
    }),
    facts: value(
      "names",
      "With --output ansible: facts that hosts are grouped by, with commas between them",
      { ids: "facts" },
    ),
    list: flag("With --output ansible: the whole inventory, which is the default"),
    host: value("peel", "With --output ansible: the variables of one host", { ids: "members" }),
  },
  async run(args, cli) {
    const named = readListFlag("--columns", args.columns, readColumn);
    const usual = cli.wide ? tableColumns : usualColumns;
    const hiddenColumns = tableColumns.filter((column) => !cli.wide && !isUsual(column));
    const chosen = named.length === 0 ? usual : named;
    const sort = readFlag("--sort", args.sort, readColumn);
    if (args.alive === true && args.silent === true) {
      throw new SvcError("usage", "--alive and --silent exclude each other");
    }
    const target = args.target ?? "*";
    if (args.output === "ansible") return printInventory(cli, { target, ...inventoryArgs(args) });
    for (const name of ["facts", "list", "host"] as const) {
      if (args[name] !== undefined) throw new SvcError("usage", `--${name} requires --output ansible`);
    }
    await withBus(cli, async (bus) => {
      const all = await readPeels(bus, target);
      if (all.length === 0)
        await assertSomeone(bus, target, (id) => request(bus, peelOperations.showPeel, { id }));
      const wanted = all.filter(({ alive }) => (alive ? args.silent !== true : args.alive !== true));
      const found = sortPeels(wanted, sort);
      const inCsv = named.length === 0 ? dataColumns : named;
      await cli.print(
        found,
        () => {
          if (named.length === 0 && found.length > 0) cli.noteHidden(Object.keys(headsOf(hiddenColumns)));
          return formatPeels(found, chosen, cli);
        },
        () => ({ header: inCsv, rows: found.map((peel) => csvRowOf(peel, inCsv)) }),
      );
      if (found.length === 0) cli.say(all.length === 0 ? "no peels" : "none of these peels");
    });
  },
});

/** The options of an inventory. @throws SvcError `usage` for those of a table */
function inventoryArgs(args: {
  facts?: string | undefined;
  host?: string | undefined;
  list?: boolean | undefined;
  columns?: string | undefined;
  alive?: boolean | undefined;
  silent?: boolean | undefined;
}): { facts: string[]; host?: string } {
  for (const name of ["columns", "alive", "silent"] as const) {
    if (args[name] !== undefined) throw new SvcError("usage", `--${name} is not for --output ansible`);
  }
  if (args.list === true && args.host !== undefined) {
    throw new SvcError("usage", "--list and --host exclude each other");
  }
  const facts = readListFlag("--facts", args.facts, (name) => name);
  return { facts, ...(args.host === undefined ? {} : { host: args.host }) };
}
