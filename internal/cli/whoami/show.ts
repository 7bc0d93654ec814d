import { SvcError } from "../../base/errors.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { type Cli, formatFields } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

/** Shows the caller, as the masters see it. @throws SvcError `forbidden` with the operator file of another fleet */
export function showWho(cli: Cli): Promise<void> {
  return withBus(cli, async (bus, expected) => {
    const who = await request(bus, operatorOperations.whoAmI, {});
    if (expected !== undefined && expected !== who.fleet) {
      throw new SvcError(
        "forbidden",
        `your operator file belongs to the fleet ${expected}, and these masters to the fleet ${who.fleet}: choose another --context`,
      );
    }
    await cli.print(who, () =>
      formatFields([
        ["Name", who.name],
        ["Roles", who.registered ? (who.roles ?? []).join(", ") : "everything: you are not registered"],
        ["Key", who.public_key ?? "-"],
        ["Ends", who.expires_at ?? "never"],
        ["Fleet", who.fleet],
        ["Signed", who.signed ? "yes" : "no: the name is only what this host says"],
      ]),
    );
  });
}
