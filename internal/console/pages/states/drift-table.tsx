import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import type { DriftedPeel } from "./use-drift.ts";

/** Peels, each with what its last run found. A row leads to that run with its differences. */
export function DriftTable({ app, peels }: { app: App; peels: readonly DriftedPeel[] }) {
  return (
    <Table
      label="Peels by their last run"
      rows={peels}
      rowKey={({ peel_id }) => peel_id}
      to={({ id }) => `/peels/${id}/states`}
      go={app.router.go}
      keys={app.keys}
      empty={<Empty title="No peel is in this list">The list is read again when a peel reports a run.</Empty>}
      columns={[
        { id: "id", title: "Peel", show: ({ id }) => id, by: ({ id }) => id },
        {
          id: "status",
          title: "Status",
          show: ({ status }) => <Status word={status} />,
          by: ({ status }) => status,
        },
        {
          id: "what",
          title: "States",
          wide: true,
          show: (peel) => <span title={whatOf(peel)}>{whatOf(peel)}</span>,
        },
        {
          id: "commit",
          title: "Commit",
          wide: true,
          show: ({ last_run: run }) => (
            <span class="mono">{[run?.environment, run?.commit.slice(0, 10)].filter(Boolean).join(" ")}</span>
          ),
          by: ({ last_run: run }) => `${run?.environment} ${run?.commit}`,
        },
        {
          id: "at",
          title: "Last run",
          show: ({ last_run: run }) => (run === undefined ? "" : <Time at={run.run_at} now={app.now} />),
          by: ({ last_run: run }) => run?.run_at ?? "",
        },
      ]}
    />
  );
}

/** The states that failed, or else those that drifted. */
function whatOf({ failures = [], drift = [] }: DriftedPeel): string {
  return (failures.length > 0 ? failures : drift).map(({ id, function: name }) => `${name} ${id}`).join(", ");
}
