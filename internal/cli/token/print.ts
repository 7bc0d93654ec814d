import { rfc3339 } from "../../base/clock.ts";
import { command } from "../../program/command-line/mod.ts";
import { currentToken } from "../login/provider.ts";

export const printCommand = command({
  name: "print",
  description: "Print the token of svc login --oidc, for the REST API.",
  examples: ["svc token print"],
  args: {},
  async run(_, cli) {
    const { issuer, token, expiresAt } = await currentToken(cli);
    await cli.print({ issuer, token, expires_at: rfc3339(expiresAt) }, () => token);
  },
});
