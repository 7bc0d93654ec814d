import { joinTokensOverBus } from "../../../fleet/over-bus/mod.ts";
import { command } from "../../../program/command-line/mod.ts";
import { ask } from "../../ask.ts";
import { withBus } from "../../operator.ts";
import { tokenIdArg } from "./show.ts";

export const revokeCommand = command({
  name: "revoke",
  description: "Revoke a token that hosts join with. Hosts that joined with it stay.",
  args: { id: tokenIdArg },
  run: ({ id }, cli) =>
    withBus(cli, async (bus) => {
      const { token } = await ask(bus, joinTokensOverBus.revoke, { id });
      await cli.print(token, () => `revoked ${token.id}: ${token.uses_left} of ${token.uses} uses were left`);
    }),
});
