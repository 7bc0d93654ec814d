import { joinTokenOperations } from "../../../fleet/join-tokens/mod.ts";
import { command } from "../../../program/command-line/mod.ts";
import { fullId } from "../../ids/full-id.ts";
import { withBus } from "../../operator.ts";
import { request } from "../../request.ts";
import { tokenIdArg } from "./show.ts";

export const revokeCommand = command({
  name: "revoke",
  description: "Revoke a token that hosts join with. Hosts that joined with it stay.",
  examples: ["svc enroll token revoke jtk-3MRx"],
  args: { id: tokenIdArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await fullId("jtk", args.id, bus, cli);
      const { token } = await request(bus, joinTokenOperations.revokeJoinToken, { id });
      await cli.print(token, () => `revoked ${token.id}: ${token.uses_left} of ${token.uses} uses were left`);
    }),
});
