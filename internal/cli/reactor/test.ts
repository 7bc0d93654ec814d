import { formatYaml } from "../../base/yaml/yaml.ts";
import { type Reaction, reactorOperations, type SaidEvent } from "../../fleet/reactor/mod.ts";
import { indent } from "../../program/answers/mod.ts";
import { command, formatTable, type TableStyle, value } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { readEventFile } from "./event-file.ts";
import { sayProblem } from "./say-problem.ts";

export const testCommand = command({
  name: "test",
  description: "Show what the reactor would do for an event, without doing it.",
  examples: ["svc reactor test --event event.yaml"],
  args: {
    event: value("file", "Event as JSON or YAML: tag; optionally source, data, depth, at", {
      required: true,
    }),
  },
  async run(args, cli) {
    // What is wrong with it is the master's to say.
    const event = readEventFile(args.event) as unknown as SaidEvent;
    await withBus(cli, async (bus) => {
      const { master, problem, refused, ...reaction } = await request(bus, reactorOperations.testEvent, {
        event,
      });
      await cli.print(reaction, () => formatReaction(reaction, cli));
      if (reaction.rules.length === 0) cli.say(`no rules on ${master}`);
      if (reaction.dropped !== undefined) cli.say(`the event would be dropped: ${reaction.dropped}`);
      sayProblem(cli, { master, problem, refused });
    });
  },
});

/** What each rule makes of an event, and below it what those that fire do. */
export function formatReaction({ rules }: Pick<Reaction, "rules">, style: TableStyle): string {
  const table = formatTable(
    { RULE: "name", FIRES: "word", WHY: "prose" },
    rules.map(({ rule, fires, why }) => [rule, fires ? "yes" : "no", why]),
    style,
  );
  const actions = rules.flatMap(({ rule, actions: reported }) =>
    reported.length === 0
      ? []
      : [[`${rule} does:`, ...indent(formatYaml(reported).trimEnd().split("\n"))].join("\n")],
  );
  return [table, ...actions].join("\n\n");
}
