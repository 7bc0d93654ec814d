import { peelsOverBus } from "../../fleet/over-bus/mod.ts";
import type { ShownPeel } from "../../fleet/peels/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { formatLabels } from "../enroll/label-change.ts";
import { withBus } from "../operator.ts";
import { formatAge } from "./age.ts";

export const showCommand = command({
  name: "show",
  description: "Show what the masters know of a peel, whether it is on or off.",
  args: { peel: { type: "positional", required: true, ids: "members", description: "Peel id" } },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const { peel } = await ask(bus, peelsOverBus.show, { id: args.peel });
      await cli.print(peel, () => formatPeel(peel, cli.clock.now()));
    }),
});

/** @param now milliseconds since the Unix epoch */
function formatPeel(peel: ShownPeel, now: number): string {
  const since = (time: string | undefined) =>
    time === undefined ? "" : `, since ${time} (${formatAge(now - Date.parse(time))})`;
  const labels = Object.keys(peel.labels).length === 0 ? "none" : formatLabels(peel.labels);
  return formatFields([
    ["Peel", peel.id],
    ["Enrollment", `${peel.enrollment_id}, ${peel.state}`],
    ["Life", peel.alive ? `alive${since(peel.alive_since)}` : `silent${since(peel.silent_since)}`],
    ["Version", peel.version ?? "-"],
    ["OS", peel.os ?? "-"],
    ["Address", peel.address ?? "-"],
    ["Labels", labels],
    ["Credentials", peel.creds_expires_at === undefined ? "-" : `expire at ${peel.creds_expires_at}`],
  ]);
}
