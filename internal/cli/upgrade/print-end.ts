import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId, namesOf, type PeelNames } from "../../base/names/peel-id.ts";
import { isMap } from "../../base/plain-map.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { SeenReturn } from "../../fleet/jobs/mod.ts";
import type { Outcome } from "../../fleet/jobs/records/mod.ts";
import type { RolloutView } from "../../fleet/rollout/mod.ts";
import { type Cli, Exit, formatTable, type TableStyle, visible } from "../../program/command-line/mod.ts";
import { peelCount } from "../job/counts.ts";
import { followJob } from "../job/follow-job.ts";
import { formatWaves } from "../rollout/format.ts";

/** What became of one peel. */
export interface UpgradedPeel extends PeelNames {
  outcome: Outcome;
  /** What it runs now, and what it ran before, as far as it said. */
  version?: string;
  previous?: string;
  rolled_back?: boolean;
  /** Why it did not change over. */
  reason?: string;
}

/**
 * Prints how an upgrade ended: its waves, and below them every peel of those that began, with the version
 * it runs.
 *
 * @throws Exit 1 when the rollout was not completed
 */
export async function printUpgradeEnd(bus: Bus, view: RolloutView, cli: Cli): Promise<void> {
  const peels = await readPeels(bus, view);
  const ended = [...peels.filter(isWell), ...peels.filter((peel) => !isWell(peel))];
  await cli.print(
    { ...view, peels: ended },
    () => `${formatWaves(view.waves, cli)}\n\n${formatPeels(ended, cli)}`,
  );
  const why = view.reason === undefined ? view.status : `${view.status}: ${view.reason}`;
  cli.say(`${view.id} ${why}; ${peelCount(view.failures)} of ${view.targets} failed`);
  if (view.status !== "completed") throw new Exit(1);
}

const isWell = ({ outcome }: UpgradedPeel) => outcome === "ok";

async function readPeels(bus: Bus, view: RolloutView): Promise<UpgradedPeel[]> {
  const found: UpgradedPeel[] = [];
  for (const { jid } of view.waves) {
    if (jid === undefined) continue;
    const { targets, outcomes, returns } = await followJob(bus, jid, { until: "now" });
    for (const peel of targets) found.push(readPeel(peel, outcomes[peel] ?? "pending", returns[peel]));
  }
  return found;
}

function readPeel(peel: string, outcome: Outcome, returned: SeenReturn | undefined): UpgradedPeel {
  const value = returned?.return;
  const reported = isMap(value) ? value : {};
  const reason = textOf(reported.reason) ?? returned?.error;
  const isRolledBack = reported.rolled_back === true;
  const [wanted, before] = [textOf(reported.version), textOf(reported.previous)];
  const version = outcome === "ok" ? wanted : before;
  return {
    ...namesOf(peel),
    outcome,
    ...defined({ version, previous: before, rolled_back: isRolledBack ? true : undefined, reason }),
  };
}

function textOf(value: Plain | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** What became of each peel, as a table. */
export function formatPeels(peels: readonly UpgradedPeel[], style: TableStyle): string {
  const rows = peels.map(({ peel_id, outcome, version = "-", previous = "-", rolled_back, reason = "" }) => [
    displayPeelId(peel_id),
    rolled_back ? "rolled back" : outcome,
    version,
    previous,
    visible(reason.split("\n", 1)[0] ?? ""),
  ]);
  return formatTable(
    { "PEEL ID": "text", OUTCOME: "state", RUNS: "text", BEFORE: "text", REASON: "prose" },
    rows,
    style,
  );
}
