import { tokensOverBus } from "../../fleet/over-bus/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";

export const listCommand = command({
  name: "list",
  description: "List the tokens of the REST API.",
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const { tokens } = await ask(bus, tokensOverBus.list, {});
      await cli.print(tokens, () =>
        formatTable(
          ["NAME", "ID", "ROLES", "STATE", "BY", "EXPIRES", "LAST USE"],
          tokens.map((token) => [
            ...[token.name, token.id, token.roles.join(","), token.state, token.created_by, token.expires_at],
            token.last_used_at ?? "",
          ]),
          cli,
        ),
      );
      if (tokens.length === 0) cli.say("no tokens");
    }),
});
