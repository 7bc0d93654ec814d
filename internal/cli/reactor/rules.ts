import { atLine } from "../../base/place.ts";
import { reactorOperations } from "../../fleet/reactor/mod.ts";
import { command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";
import { sayProblem } from "./say-problem.ts";

export const rulesCommand = command({
  name: "rules",
  description: "List the rules in force, in order of evaluation.",
  examples: ["svc reactor rules"],
  lists: true,
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const answer = await request(bus, reactorOperations.listReactorRules, {});
      await cli.print(answer.rules, () => formatRules(answer.rules, cli));
      if (answer.rules.length === 0) cli.say(`no rules on ${answer.master}`);
      sayProblem(cli, answer);
    }),
});

/** Rules as a table. */
export function formatRules(
  rules: AnswerTo<typeof reactorOperations.listReactorRules>["rules"],
  style: TableStyle,
): string {
  return formatTable(
    {
      RULE: "prose",
      MATCH: "text",
      SOURCE: "wide",
      WHEN: "prose",
      DO: "prose",
      FIRED: "spare word",
      LAST: "spare ago",
      "OPEN UNTIL": "spare until",
      AT: "spare text",
    },
    rules.map((rule) => [
      rule.unsafe ? `${rule.name} (unsafe)` : rule.name,
      rule.match.join(" "),
      rule.source ?? "*",
      rule.when.join(" and ") || "-",
      rule.actions.join(", "),
      rule.fired === undefined ? "-" : String(rule.fired),
      rule.last_fired_at ?? "-",
      rule.breaker_open_until ?? "-",
      atLine(rule.file, rule.line),
    ]),
    style,
  );
}
