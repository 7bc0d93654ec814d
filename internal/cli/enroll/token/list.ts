import { joinTokenOperations } from "../../../fleet/join-tokens/mod.ts";
import { command, flag, formatTable, type TableStyle } from "../../../program/command-line/mod.ts";
import { withBus } from "../../operator.ts";
import { type AnswerTo, request } from "../../request.ts";

export const listCommand = command({
  name: "list",
  description: "List the tokens that hosts join with, newest first.",
  examples: ["svc enroll token list --all"],
  args: { all: flag("Also those that let no host in any more") },
  run: ({ all }, cli) =>
    withBus(cli, async (bus) => {
      const found = (await request(bus, joinTokenOperations.listJoinTokens, {})).tokens;
      const tokens = found.filter(({ state }) => all === true || state === "open");
      await cli.print(tokens, () => formatJoinTokens(tokens, cli));
      const hidden = found.length - tokens.length;
      if (tokens.length === 0) cli.say(hidden === 0 ? "no join tokens" : "no open join tokens");
      if (hidden > 0) cli.say(`${hidden} more let no host in any more: --all shows them`);
    }),
});

/** Join tokens as a table. */
export function formatJoinTokens(
  tokens: AnswerTo<typeof joinTokenOperations.listJoinTokens>["tokens"],
  style: TableStyle,
): string {
  return formatTable(
    {
      ID: "id",
      STATE: "state",
      PEELS: "text",
      "USES LEFT": "spare word",
      EXPIRES: "spare until",
      BY: "text",
      NOTE: "text",
    },
    tokens.map((token) => [
      ...[token.id, token.hold ? `${token.state}, hold` : token.state, token.peel],
      ...[`${token.uses_left} of ${token.uses}`, token.expires_at, token.created_by, token.note ?? ""],
    ]),
    style,
  );
}
