import { policyOperations, type ShownWay } from "../../../fleet/policy/mod.ts";
import { command, formatTable, type TableStyle } from "../../../program/command-line/mod.ts";
import { withBus } from "../../operator.ts";
import { type AnswerTo, request } from "../../request.ts";
import { formatLabels } from "./format-labels.ts";

export const explainCommand = command({
  name: "explain",
  description:
    "Show everything that can admit hosts now without an operator: tokens, expected hosts, rules of the policy and of the reactor.",
  examples: ["svc enroll policy explain"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const answer = await request(bus, policyOperations.explainWays, {});
      const { master, file, problem, ways, networks } = answer;
      await cli.print(answer, () =>
        networks.length === 0
          ? formatWays(ways, cli)
          : `${formatWays(ways, cli)}\n\n${formatNetworks(networks, cli)}`,
      );
      if (ways.length === 0) cli.say("no host joins without an operator");
      cli.say(`the rules are those of ${master}, from ${file}; each master has its own`);
      if (problem !== undefined) cli.say(`the policy file of ${master} cannot be used: ${problem}`);
    }),
});

/** Everything that can admit a host without an operator. */
export function formatWays(ways: readonly ShownWay[], style: TableStyle): string {
  return formatTable(
    {
      ...{ WAY: "word", NAME: "text", PEELS: "text", DECIDES: "spare word" },
      ...{ "USES LEFT": "spare word", ENDS: "spare until", CONDITIONS: "prose", LABELS: "text" },
    },
    ways.map((way) => [
      ...[wordOf(way), way.name, way.peels, way.decides],
      ...[way.uses?.toString() ?? "any", way.expires_at ?? "never"],
      ...[way.conditions ?? "-", formatLabels(way.labels)],
    ]),
    style,
  );
}

/** Networks whose hosts may ask more often than others. */
export function formatNetworks(
  networks: AnswerTo<typeof policyOperations.explainWays>["networks"],
  style: TableStyle,
): string {
  return formatTable(
    { NETWORK: "text", ADDRESSES: "prose", "REQUESTS AT ONCE": "word", "ONE MORE EVERY": "word" },
    networks.map(({ name, cidr, capacity, refill }) => [name, cidr.join(" "), String(capacity), refill]),
    style,
  );
}

const words: Readonly<Record<ShownWay["kind"], string>> = {
  token: "join token",
  expected: "expected hosts",
  policy: "policy rule",
  reactor: "reactor rule",
};
const wordOf = ({ kind }: ShownWay): string => words[kind];
