import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { maxPeels, maxShown, peelOperations } from "../../fleet/peels/mod.ts";
import {
  command,
  formatTable,
  readListFlag,
  type TableStyle,
  value,
  word,
} from "../../program/command-line/mod.ts";
import { allPages } from "../all-pages.ts";
import { assertSomeone } from "../nobody.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { factCell, factColumns } from "./cell.ts";

export const findCommand = command({
  name: "find",
  description: "Show some facts of many peels, from the memory of a master, also of peels that are off.",
  examples: [
    "svc facts find 'G@os:Debian' --show osrelease,num_cpus",
    "svc facts find '*' --show mounts:/:fstype",
  ],
  args: {
    target: word("Which peels, such as '*' or 'G@os:Debian'", { required: true, ids: "members" }),
    show: value("names", `Facts with commas between them, at most ${maxShown}, such as os,mounts:/:fstype`, {
      required: true,
      ids: "facts",
    }),
  },
  async run({ target, show }, cli) {
    const names = [...new Set(readListFlag("--show", show, (name) => name))];
    await withBus(cli, async (bus) => {
      const requested = { target, show: names.join(","), limit: maxPeels };
      const found = await allPages(
        (after) => request(bus, peelOperations.findFacts, { ...requested, ...after }),
        "peels",
      );
      if (found.length === 0)
        await assertSomeone(bus, target, (id) => request(bus, peelOperations.showPeel, { id }));
      await cli.print(
        found,
        () => formatFacts(names, found, cli),
        () => ({
          header: ["peel", "peel_id", ...names],
          rows: found.map(({ peel_id, facts }) => [
            ...[displayPeelId(peel_id), peel_id],
            ...names.map((name) => facts[name]),
          ]),
        }),
      );
      if (found.length === 0) cli.say("no peels");
    });
  },
});

/** Some facts of many peels, a row for each. */
export function formatFacts(
  names: readonly string[],
  peels: readonly { peel_id: string; facts: Readonly<Record<string, Plain>> }[],
  style: TableStyle,
): string {
  return formatTable(
    { "PEEL ID": "name", ...factColumns(names) },
    peels.map(({ peel_id, facts }) => [
      displayPeelId(peel_id),
      ...names.map((name) => factCell(facts[name])),
    ]),
    style,
  );
}
