import { resolve } from "node:path";
import { defined } from "../../base/defined.ts";
import { displayPeelId, namesOf } from "../../base/names/peel-id.ts";
import { inspectAssets } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { openBucket, restoreBus } from "../../bus/storage/mod.ts";
import { judgeWithoutKeys, readDecisionFile, restoreDecisions } from "../../fleet/decisions/mod.ts";
import { type Cli, choice, command, value, word } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { credsArg } from "./args.ts";
import { type AddedDecision, formatBackup, formatDecisions } from "./format.ts";

export const restoreCommand = command({
  name: "restore",
  description: "Restore a backup to a new bus, before a master uses it.",
  examples: ["svc bus restore ./backup-2026-11-24 --creds master.creds --decisions decisions.log"],
  args: {
    dir: word("Directory of the backup", { required: true }),
    creds: credsArg,
    decisions: value("file", "The decisions.log of a master: also restore what was decided after the backup"),
    replicas: choice(["1", "3", "5"], "Number of cluster servers that store each bucket and stream", {
      default: "1",
    }),
  },
  run: ({ dir, creds, decisions, replicas }, cli) =>
    withBus(
      cli,
      async (bus) => {
        // Read first: a file that cannot be used must not leave a bus that is half restored.
        const log = decisions === undefined ? undefined : readDecisionFile(resolve(decisions));
        const backup = await restoreBus(bus, resolve(dir), Number(replicas));
        const added = log === undefined ? undefined : await addDecisions(bus, log, cli);
        await cli.print({ ...backup, ...defined({ decisions: added }) }, () =>
          [formatBackup(backup, cli), ...(added?.length ? [formatDecisions(added, cli)] : [])].join("\n\n"),
        );
        if (added !== undefined)
          cli.say(`${added.length} decisions of ${decisions} were not in the backup: restored`);
      },
      { credsFile: creds },
    ),
});

type DecisionFile = ReturnType<typeof readDecisionFile>;

async function addDecisions(
  bus: Bus,
  { decisions, damagedBytes }: DecisionFile,
  cli: Pick<Cli, "say">,
): Promise<AddedDecision[]> {
  if (damagedBytes > 0)
    cli.say(`${damagedBytes} damaged bytes of the log were skipped: use also the logs of other masters`);
  // A backup of an earlier version lacks buckets; masters put back what they know.
  const there = await inspectAssets(bus, ["releases", "operators"]);
  const buckets = {
    enrollments: await openBucket(bus, "enrollments"),
    revocations: await openBucket(bus, "revocations"),
    ...(there.get("releases") === "there" ? { releases: await openBucket(bus, "releases") } : {}),
    ...(there.get("operators") === "there" ? { operators: await openBucket(bus, "operators") } : {}),
  };
  const known = decisions.flatMap(({ value, ...rest }) => (value === undefined ? [] : [{ ...rest, value }]));
  const added: AddedDecision[] = [];
  const { superseded } = await restoreDecisions(
    buckets,
    () => known,
    () => judgeWithoutKeys(bus.clock.now()),
    {
      onRestored: ({ decision: { bucket, key }, peelId, was }) =>
        added.push({ bucket, key, ...namesOf(peelId), was }),
    },
  );
  for (const { decision, peelId } of superseded) {
    cli.say(`${decision.key} was not restored: ${displayPeelId(peelId)} has another enrollment`);
  }
  return added;
}
