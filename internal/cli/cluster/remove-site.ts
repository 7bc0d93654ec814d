import { siteOperations } from "../../fleet/sites/mod.ts";
import { command, visible, word } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

const timeoutMs = 15_000;

export const removeSiteCommand = command({
  name: "remove-site",
  description:
    "Remove a site: its server is disconnected at once, and its credentials never count again. Its peels connect to the bus of the masters when that server is stopped.",
  examples: ["svc cluster remove-site berlin"],
  args: { site: word("Name of the site", { required: true }), yes: yesArg },
  run: ({ site, yes }, cli) =>
    withBus(cli, async (bus) => {
      await confirm(
        cli,
        `Remove the site ${visible(site)}: its server is disconnected at once`,
        yes === true,
      );
      const { removed } = await request(bus, siteOperations.removeSite, { site }, { timeoutMs });
      await cli.print({ site, removed }, () =>
        removed
          ? `${site} is removed: stop svc-master there, and destroy its directory`
          : `${site} was removed before`,
      );
    }),
});
