import { SvcError } from "../../base/errors.ts";
import { parseLifetimeWithin } from "../../base/lifetime.ts";
import { digestOf, newTokenText, tokenLifetime, tokenOperations } from "../../fleet/tokens/mod.ts";
import { command, readFlag, value } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

export const createCommand = command({
  name: "create",
  description: "Create a token of the REST API, and print it once.",
  examples: ["svc token create --name ci --role operator --expires 30d"],
  args: {
    name: value("name", "Its name; requests with it are recorded as token:NAME", { required: true }),
    role: value("role,...", "Its roles, separated by commas; you must have them", { required: true }),
    expires: value("duration", "How long it lasts, 1m to 366d", { default: "90d" }),
  },
  async run({ name, role, expires }, cli) {
    const roles = role.split(",").map((one) => one.trim());
    if (roles.includes("")) throw new SvcError("usage", "--role: expected roles separated by commas");
    readFlag("--expires", expires, (text) => parseLifetimeWithin(text, tokenLifetime));
    await withBus(cli, async (bus) => {
      // Made here: it does not cross the bus, only its SHA-256 does.
      const token = newTokenText(cli.random);
      const made = await request(bus, tokenOperations.createToken, {
        name,
        roles,
        expires,
        digest: digestOf(token),
      });
      await cli.print({ ...made, token }, () => token);
      cli.say(
        `${made.name} (${made.id}) has the roles ${made.roles.join(", ")} until ${made.expires_at}. Keep the token in a file with mode 0600: it is not shown again.`,
      );
    });
  },
});
