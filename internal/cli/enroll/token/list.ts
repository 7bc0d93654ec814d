import { joinTokensOverBus } from "../../../fleet/over-bus/mod.ts";
import { command, formatTable } from "../../../program/command-line/mod.ts";
import { ask } from "../../ask.ts";
import { withBus } from "../../operator.ts";

export const listCommand = command({
  name: "list",
  description: "List the tokens that hosts join with, newest first.",
  args: { all: { type: "boolean", description: "Also those that let no host in any more" } },
  run: ({ all }, cli) =>
    withBus(cli, async (bus) => {
      const found = (await ask(bus, joinTokensOverBus.list, {})).tokens;
      const tokens = found.filter(({ state }) => all === true || state === "open");
      await cli.print(tokens, () =>
        formatTable(
          ["ID", "STATE", "PEELS", "USES LEFT", "EXPIRES", "BY", "NOTE"],
          tokens.map((token) => [
            ...[token.id, token.hold ? `${token.state}, hold` : token.state, token.peel],
            ...[`${token.uses_left} of ${token.uses}`, token.expires_at, token.created_by, token.note ?? ""],
          ]),
          cli,
        ),
      );
      const hidden = found.length - tokens.length;
      if (tokens.length === 0) cli.say(hidden === 0 ? "no join tokens" : "no open join tokens");
      if (hidden > 0) cli.say(`${hidden} more let no host in any more: --all shows them`);
    }),
});
