import { decodeClosed } from "../../master/doors/bus/reactor-message.ts";
import { command } from "../../program/command-line/command.ts";
import { formatTable } from "../../program/command-line/print.ts";
import { withBus } from "../operator.ts";
import { askReactor } from "./ask.ts";

export const resetCommand = command({
  name: "reset",
  description: "Close the circuit breaker of a rule, or all circuit breakers, so that the rules fire again.",
  args: {
    rule: { type: "positional", required: false, description: "Name of the rule (default: all rules)" },
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const request = args.rule === undefined ? {} : { rule: args.rule };
      const closed = await askReactor(bus, "reset", request, decodeClosed);
      await cli.print({ closed }, () =>
        formatTable(
          ["CLOSED"],
          closed.map((rule) => [rule]),
          cli,
        ),
      );
      if (closed.length === 0) cli.say("no breaker was open");
    }),
});
