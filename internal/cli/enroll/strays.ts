import { displayPeelId } from "../../base/names/peel-id.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

export const straysCommand = command({
  name: "strays",
  description: "List users of the bus that are refused because no valid record has their key.",
  examples: ["svc enroll strays"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const { strays } = await request(bus, enrollmentOperations.listStrays, {});
      await cli.print(strays, () => formatStrays(strays, cli));
      if (strays.length === 0) cli.say("no strays");
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
