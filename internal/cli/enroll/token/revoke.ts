import { joinTokenOperations } from "../../../fleet/join-tokens/mod.ts";
import { command, visible } from "../../../program/command-line/mod.ts";
import { confirm, yesArg } from "../../confirm/confirm.ts";
import { fullId } from "../../ids/full-id.ts";
import { withBus } from "../../operator.ts";
import { request } from "../../request.ts";
import { tokenIdArg } from "./show.ts";

export const revokeCommand = command({
  name: "revoke",
  description: "Revoke a token that hosts join with. Hosts that joined with it stay.",
  examples: ["svc enroll token revoke jtk-3MRx"],
  args: { id: tokenIdArg, yes: yesArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await fullId("jtk", args.id, bus, cli);
      await confirm(
        cli,
        `Revoke the token ${visible(args.id)}: no host joins with it any more`,
        args.yes === true,
      );
      const { token } = await request(bus, joinTokenOperations.revokeJoinToken, { id });
      await cli.print(token, () => `revoked ${token.id}: ${token.uses_left} of ${token.uses} uses were left`);
    }),
});
