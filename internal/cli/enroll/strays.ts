import { rfc3339 } from "../../base/clock.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import { openBucket } from "../../bus/mod.ts";
import { readStrays } from "../../fleet/enrollment/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";

export const straysCommand = command({
  name: "strays",
  description: "List users of the bus that are refused because no valid record has their key.",
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const strays = await readStrays(await openBucket(bus, "revocations"), cli.clock.now());
      const found = strays.map(({ busPublicKey, peelId, revokedAt, expiresAt }) => ({
        peel_id: peelId,
        bus_public_key: busPublicKey,
        refused_at: rfc3339(revokedAt),
        creds_expires_at: rfc3339(expiresAt),
      }));
      await cli.print(found, () =>
        formatTable(
          ["PEEL ID", "KEY", "REFUSED"],
          found.map((one) => [displayPeelId(one.peel_id), one.bus_public_key, one.refused_at]),
          cli,
        ),
      );
      if (found.length === 0) cli.say("no strays");
    }),
});
