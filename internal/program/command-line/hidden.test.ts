import { expect, test } from "bun:test";
import { runInProcess } from "../../../test/harness/svc.ts";
import { command, group } from "./command.ts";
import { runTree } from "./run-tree.ts";
import { formatTable } from "./table.ts";

const columns = { ID: "name", PEELS: "spare word", OK: "spare word", SOURCE: "wide", BY: "text" } as const;
const tree = group({
  name: "svc",
  description: "Try lists.",
  commands: () => [
    command({
      name: "list",
      description: "Print a list.",
      examples: ["svc list"],
      args: { empty: { type: "boolean", description: "Print nothing below the heads" } },
      run: ({ empty }, cli) => {
        const rows = empty === true ? [] : [["a".repeat(30), "12", "9", "schedule", "ann"]];
        return cli.print(rows, () => formatTable(columns, rows, cli));
      },
    }),
  ],
});
const run = (columns: string, ...argv: string[]) =>
  runInProcess((options) => runTree(tree, options), ["list", ...argv], {
    env: columns === "" ? {} : { COLUMNS: columns },
  });

test.each([
  ["80", "1 column is hidden: --wide shows it\n"],
  ["40", "3 columns are hidden: --wide shows them\n"],
  // Nothing limits a line of a pipe.
  ["", ""],
])("in %s columns what is hidden is said: %s", async (width, stderr) => {
  expect(await run(width)).toMatchObject({ exit: 0, stderr });
  for (const flags of [["--wide"], ["--output", "json"], ["--output", "csv"], ["--empty"]]) {
    expect(await run(width, ...flags)).toMatchObject({ exit: 0, stderr: "" });
  }
});
