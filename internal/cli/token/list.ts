import { tokenOperations } from "../../fleet/tokens/mod.ts";
import { command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";

export const listCommand = command({
  name: "list",
  description: "List the tokens of the REST API.",
  examples: ["svc token list"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const { tokens } = await request(bus, tokenOperations.listTokens, {});
      await cli.print(tokens, () => formatTokens(tokens, cli));
      if (tokens.length === 0) cli.say("no tokens");
    }),
});

/** Tokens as a table. */
export function formatTokens(
  tokens: AnswerTo<typeof tokenOperations.listTokens>["tokens"],
  style: TableStyle,
): string {
  return formatTable(
    {
      NAME: "text",
      ID: "id",
      ROLES: "text",
      STATE: "state",
      BY: "text",
      EXPIRES: "spare until",
      "LAST USE": "spare ago",
    },
    tokens.map((token) => [
      ...[token.name, token.id, token.roles.join(","), token.state, token.created_by, token.expires_at],
      token.last_used_at ?? "",
    ]),
    style,
  );
}
