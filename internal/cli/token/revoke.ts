import { tokenOperations } from "../../fleet/tokens/mod.ts";
import { command, visible, word } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { fullId } from "../ids/full-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

export const revokeCommand = command({
  name: "revoke",
  description: "Revoke a token of the REST API. Every master refuses it at once.",
  examples: ["svc token revoke ci"],
  args: { token: word("Name or id of the token", { required: true }), yes: yesArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await fullId("tok", args.token, bus, cli);
      await confirm(cli, `Revoke the token ${visible(args.token)}`, args.yes === true);
      const { token } = await request(bus, tokenOperations.revokeToken, { id });
      await cli.print(token, () => `revoked ${token.name} (${token.id})`);
    }),
});
