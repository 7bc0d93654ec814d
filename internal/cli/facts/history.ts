import { defined } from "../../base/defined.ts";
import { peelOperations } from "../../fleet/peels/mod.ts";
import { command, formatTable, type TableStyle, value } from "../../program/command-line/mod.ts";
import { readNamedPeel } from "../ids/full-peel-id.ts";
import { withBus } from "../operator.ts";
import { readPastTime } from "../past-time.ts";
import { peelArg } from "../peel-args.ts";
import { type AnswerTo, request } from "../request.ts";
import { factCell } from "./cell.ts";

/** Of a cell: both values and the name fit on most terminals. */
const maxCell = 60;

export const historyCommand = command({
  name: "history",
  description: "Show what changed in the facts of a peel and when, the newest changes first.",
  examples: ["svc facts history web-1.example.com", "svc facts history web-1.example.com --since 7d"],
  args: {
    peel: peelArg,
    since: value("time", "Only changes of this time or later: RFC 3339, or a duration ago such as 7d"),
  },
  async run(args, cli) {
    const since = args.since === undefined ? undefined : readPastTime("--since", args.since, cli.clock.now());
    await withBus(cli, async (bus) => {
      const known = await readNamedPeel(args.peel, bus, cli, (id) =>
        request(bus, peelOperations.getFactsHistory, { id, ...defined({ since }) }),
      );
      const { changes, known_since, more } = known;
      // Lines and rows are of changes, each of which stands for itself; their context is shown below.
      const isList = cli.output === "jsonl" || cli.output === "csv";
      await cli.print(isList ? changes : known, () => formatChanges(changes, cli));
      if (changes.length === 0) cli.say("no changes");
      if (more === true) cli.say("there are older changes: --since chooses newer ones only");
      cli.say(`the bus knows the facts of this peel since ${known_since}`);
    });
  },
});

/** What changed in the facts of a peel, as a table. */
export function formatChanges(
  changes: AnswerTo<typeof peelOperations.getFactsHistory>["changes"],
  style: TableStyle,
): string {
  return formatTable(
    { CHANGED: "ago", FACT: "text", BEFORE: "prose", AFTER: "prose" },
    changes.map(({ at, name, before, after }) => [at, name, short(factCell(before)), short(factCell(after))]),
    style,
  );
}

function short(text: string): string {
  return text.length <= maxCell ? text : `${text.slice(0, maxCell - 1)}…`;
}
