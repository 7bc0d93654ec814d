import { atLine } from "../../base/place.ts";
import { reactorOverBus } from "../../fleet/over-bus/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";
import { sayProblem } from "./ask.ts";

export const rulesCommand = command({
  name: "rules",
  description: "List the rules in force, in order of evaluation.",
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const answer = await ask(bus, reactorOverBus.rules, {});
      await cli.print(answer.rules, () =>
        formatTable(
          ["RULE", "MATCH", "SOURCE", "WHEN", "DO", "BREAKER", "AT"],
          answer.rules.map((rule) => [
            rule.unsafe ? `${rule.name} (unsafe)` : rule.name,
            rule.match.join(" "),
            rule.source ?? "*",
            rule.when.join(" and ") || "-",
            rule.actions.join(", "),
            rule.breaker_open_until === undefined ? "-" : `open until ${rule.breaker_open_until}`,
            atLine(rule.file, rule.line),
          ]),
          cli,
        ),
      );
      if (answer.rules.length === 0) cli.say(`no rules on ${answer.master}`);
      sayProblem(cli, answer);
    }),
});
