import { reactorOperations } from "../../fleet/reactor/mod.ts";
import { command, formatTable, type TableStyle, word } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

export const resetCommand = command({
  name: "reset",
  description: "Close the circuit breaker of a rule, or all circuit breakers, so that the rules fire again.",
  examples: ["svc reactor reset restart-nginx"],
  args: {
    rule: word("Name of the rule (default: all rules)", { required: false }),
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const { closed } = await request(bus, reactorOperations.resetBreakers, { rule: args.rule });
      await cli.print({ closed }, () => formatClosed(closed, cli));
      if (closed.length === 0) cli.say("no breaker was open");
    }),
});

/** The rules whose breakers were closed. */
export function formatClosed(closed: readonly string[], style: TableStyle): string {
  return formatTable(
    { CLOSED: "text" },
    closed.map((rule) => [rule]),
    style,
  );
}
