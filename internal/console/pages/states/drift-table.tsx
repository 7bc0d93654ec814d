import { useMemo } from "preact/hooks";
import { contentCell } from "../../../wire/content-words.ts";
import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import type { Column } from "../../kit/table/column.ts";
import { longColumn, statusColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import type { DriftedPeel } from "./use-drift.ts";

/** Peels, each with what its last run found. A row leads to that run with its differences. */
export function DriftTable({ app, peels }: { app: App; peels: readonly DriftedPeel[] }) {
  const columns = useMemo(() => driftColumns(app), [app]);
  return (
    <Table
      label="Peels by their last run"
      rows={peels}
      rowKey={({ peel_id }) => peel_id}
      to={({ peel }) => `/peels/${peel}/states`}
      go={app.router.go}
      keys={app.keys}
      empty={<Empty title="No peel is in this list">The list is read again when a peel reports a run.</Empty>}
      columns={columns}
    />
  );
}

/** The states that failed, or else those that drifted. */
function whatOf({ failures = [], drift = [] }: DriftedPeel): string {
  return (failures.length > 0 ? failures : drift).map(({ id, function: name }) => `${name} ${id}`).join(", ");
}

const driftColumns = ({ now }: Pick<App, "now">): readonly Column<DriftedPeel>[] => [
  textColumn("peel", "Peel", ({ peel }) => peel),
  statusColumn("status", "Status", ({ status }) => status),
  longColumn("what", "States", whatOf, { wide: true, unsorted: true }),
  {
    id: "commit",
    title: "Files",
    wide: true,
    show: ({ last_run: run }) => <span class="mono">{run === undefined ? "" : contentCell(run)}</span>,
    by: ({ last_run: run }) => `${run?.environment} ${run?.commit}`,
  },
  timeColumn(now, "at", "Last run", ({ last_run: run }) => run?.run_at),
];
