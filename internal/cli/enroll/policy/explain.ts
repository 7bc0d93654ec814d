import { policyOverBus } from "../../../fleet/over-bus/mod.ts";
import type { ShownWay } from "../../../fleet/policy/mod.ts";
import { command, formatTable } from "../../../program/command-line/mod.ts";
import { ask } from "../../ask.ts";
import { withBus } from "../../operator.ts";
import { formatLabels } from "./format-labels.ts";

export const explainCommand = command({
  name: "explain",
  description:
    "Show everything that can admit hosts now without an operator: tokens, expected hosts, rules of the policy and of the reactor.",
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const answer = await ask(bus, policyOverBus.ways, {});
      const { master, file, problem, ways, networks } = answer;
      await cli.print(answer, () => {
        const tables = [
          formatTable(
            ["WAY", "NAME", "PEELS", "DECIDES", "USES LEFT", "ENDS", "CONDITIONS", "LABELS"],
            ways.map((way) => [
              ...[wordOf(way), way.name, way.peels, way.decides],
              ...[way.uses?.toString() ?? "any", way.expires_at ?? "never"],
              ...[way.conditions ?? "-", formatLabels(way.labels)],
            ]),
            cli,
          ),
        ];
        if (networks.length > 0) {
          tables.push(
            formatTable(
              ["NETWORK", "ADDRESSES", "REQUESTS AT ONCE", "ONE MORE EVERY"],
              networks.map(({ name, cidr, capacity, refill }) => [
                ...[name, cidr.join(" "), String(capacity), refill],
              ]),
              cli,
            ),
          );
        }
        return tables.join("\n\n");
      });
      if (ways.length === 0) cli.say("no host joins without an operator");
      cli.say(`the rules are those of ${master}, from ${file}; each master has its own`);
      if (problem !== undefined) cli.say(`the policy file of ${master} cannot be used: ${problem}`);
    }),
});

const words: Readonly<Record<ShownWay["kind"], string>> = {
  token: "join token",
  expected: "expected hosts",
  policy: "policy rule",
  reactor: "reactor rule",
};
const wordOf = ({ kind }: ShownWay): string => words[kind];
