import { tokenOperations } from "../../fleet/tokens/mod.ts";
import { command, word } from "../../program/command-line/mod.ts";
import { fullId } from "../ids/full-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

export const revokeCommand = command({
  name: "revoke",
  description: "Revoke a token of the REST API. Every master refuses it at once.",
  examples: ["svc token revoke ci"],
  args: { token: word("Name or id of the token", { required: true }) },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const { token } = await request(bus, tokenOperations.revokeToken, {
        id: await fullId("tok", args.token, bus, cli),
      });
      await cli.print(token, () => `revoked ${token.name} (${token.id})`);
    }),
});
