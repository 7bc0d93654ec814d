import { rfc3339 } from "../../base/clock.ts";
import { displayPeelId, namesOf } from "../../base/peel-id.ts";
import { openBucket } from "../../bus/mod.ts";
import { readStrays } from "../../fleet/enrollment/mod.ts";
import { command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";

export const straysCommand = command({
  name: "strays",
  description: "List users of the bus that are refused because no valid record has their key.",
  examples: ["svc enroll strays"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const strays = await readStrays(await openBucket(bus, "revocations"), cli.clock.now());
      const found = strays.map(({ busPublicKey, peelId, revokedAt, expiresAt }) => ({
        ...namesOf(peelId),
        bus_public_key: busPublicKey,
        refused_at: rfc3339(revokedAt),
        creds_expires_at: rfc3339(expiresAt),
      }));
      await cli.print(found, () => formatStrays(found, cli));
      if (found.length === 0) cli.say("no strays");
    }),
});

/** Users of the bus that are refused. */
export function formatStrays(
  strays: readonly { peel_id: string; bus_public_key: string; refused_at: string }[],
  style: TableStyle,
): string {
  return formatTable(
    { "PEEL ID": "text", KEY: "text", REFUSED: "ago" },
    strays.map((one) => [displayPeelId(one.peel_id), one.bus_public_key, one.refused_at]),
    style,
  );
}
