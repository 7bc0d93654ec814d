import { peelOperations, type ShownPeel } from "../../fleet/peels/mod.ts";
import { command, formatAge, formatFields } from "../../program/command-line/mod.ts";
import { contentWords } from "../../wire/content-words.ts";
import { formatLabels } from "../enroll/label-change.ts";
import { readNamedPeel } from "../ids/full-peel-id.ts";
import { withBus } from "../operator.ts";
import { peelArg } from "../peel-args.ts";
import { request } from "../request.ts";

export const showCommand = command({
  name: "show",
  description: "Show what the masters know about a peel, whether it is online or not.",
  examples: ["svc peels show web-1.example.com"],
  args: { peel: peelArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const { peel } = await readNamedPeel(args.peel, bus, cli, (id) =>
        request(bus, peelOperations.showPeel, { id }),
      );
      await cli.print(peel, () => formatPeel(peel, cli.clock.now()));
    }),
});

/** @param now milliseconds since the Unix epoch */
function formatPeel(peel: ShownPeel, now: number): string {
  const since = (time: string | undefined) =>
    time === undefined ? "" : `, since ${time} (${formatAge(now - Date.parse(time))})`;
  const labels = Object.keys(peel.labels).length === 0 ? "none" : formatLabels(peel.labels);
  const { last_job: last } = peel;
  const lastJob =
    last === undefined
      ? "-"
      : `${last.function}, ${last.outcome ?? "outcome unknown"}, ${last.jid}, created at ${last.at} (${formatAge(now - Date.parse(last.at))})`;
  const { last_run: run } = peel;
  const lastRun =
    run === undefined
      ? "-"
      : `${run.status}, ${run.trigger}, at ${run.run_at} (${formatAge(now - Date.parse(run.run_at))})`;
  return formatFields([
    ["Peel", peel.id],
    ["Enrollment", `${peel.enrollment_id}, ${peel.state}`],
    ["Life", peel.alive ? `alive${since(peel.alive_since)}` : `silent${since(peel.silent_since)}`],
    ["Version", peel.version ?? "-"],
    ["OS", peel.os ?? "-"],
    ["Address", peel.address ?? "-"],
    ["Labels", labels],
    ["Credentials", peel.creds_expires_at === undefined ? "-" : `expire at ${peel.creds_expires_at}`],
    ["Settings", peel.settings_version === undefined ? "-" : `version ${peel.settings_version}`],
    [
      "State files",
      `${contentWords(peel)}${run === undefined && peel.environment !== undefined ? ", not run yet" : ""}`,
    ],
    ["Last run", lastRun],
    ["Last job", lastJob],
  ]);
}
