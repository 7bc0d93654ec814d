import { defined } from "../../base/defined.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import {
  type ComplianceStatus,
  type DriftedPeel,
  maxDrifting,
  stateOperations,
  statuses,
} from "../../fleet/compliance/mod.ts";
import { choice, command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { contentCell } from "../../wire/content-words.ts";
import { allPages } from "../all-pages.ts";
import { assertSomeone } from "../nobody.ts";
import { withBus } from "../operator.ts";
import { targetArg } from "../peel-args.ts";
import { request } from "../request.ts";
import { checkStale, countPeels, staleArg } from "./args.ts";

/** The columns of a spreadsheet: the run in cells of its own, and states by their ids. */
const runColumns = [
  ...["run_at", "trigger", "jid", "environment", "commit", "snapshot", "test"],
  ...["ok", "changed", "would_change", "failed", "skipped", "duration_ms"],
] as const;
const csvHeader = ["peel", "peel_id", "status", ...runColumns, "failures", "drift"];
const columns = { "PEEL ID": "name", STATUS: "state", RAN: "ago", FILES: "text", STATES: "prose" } as const;
/** States that one row names. */
const shownStates = 3;

export const driftCommand = command({
  name: "drift",
  description: "List the peels whose last state run failed, changed something, or would change something.",
  examples: ["svc states drift", "svc states drift 'web*' --status failed"],
  args: {
    target: targetArg,
    stale: staleArg,
    status: choice(statuses, "Only peels with this status"),
  },
  async run({ target = "*", stale, status: given }, cli) {
    const status = given as ComplianceStatus | undefined;
    const chosen = { target, stale: checkStale(stale) };
    await withBus(cli, async (bus) => {
      const requested = { ...chosen, ...defined({ status }), limit: maxDrifting };
      const found = await allPages(
        (after) => request(bus, stateOperations.listDrift, { ...requested, ...after }),
        "peels",
      );
      if (found.length === 0) await assertTarget(bus, chosen);
      await cli.print(
        found,
        () => formatDrift(found, cli),
        () => ({ header: csvHeader, rows: found.map(csvRowOf) }),
      );
      if (found.length === 0) cli.say(status === undefined ? "no drift" : `no peels are ${status}`);
    });
  },
});

/** Nothing that drifted among many peels is good, and nothing among none is a mistake. */
async function assertTarget(bus: Bus, requested: { target: string; stale: string }): Promise<void> {
  const { counts } = await request(bus, stateOperations.countStates, requested);
  if (countPeels(counts) > 0) return;
  await assertSomeone(bus, requested.target, (id) => request(bus, stateOperations.showStates, { id }));
}

/** Peels that drifted, with the states that did. */
export function formatDrift(peels: readonly DriftedPeel[], style: TableStyle): string {
  return formatTable(columns, peels.map(rowOf), style);
}

function rowOf({ peel_id, status, last_run, failures = [], drift = [] }: DriftedPeel): string[] {
  const named = [...failures, ...drift].map((state) => state.id || "(the run)");
  const { failed = 0, changed = 0, would_change = 0 } = last_run ?? {};
  const more = Math.max(named.length, failed + changed + would_change) - shownStates;
  const states = [...named.slice(0, shownStates), ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
  return [displayPeelId(peel_id), status, last_run?.run_at ?? "-", contentCell(last_run), states || "-"];
}

function csvRowOf({ peel_id, status, last_run, failures = [], drift = [] }: DriftedPeel): unknown[] {
  const idsOf = (states: readonly { id: string }[]) => states.map((state) => state.id).join("; ");
  const run = runColumns.map((name) => last_run?.[name]);
  return [displayPeelId(peel_id), peel_id, status, ...run, idsOf(failures), idsOf(drift)];
}
