import { useMemo } from "preact/hooks";
import { type App, type ListedJob, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Column } from "../../kit/table/column.ts";
import { monoColumn, numberColumn, statusColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import type { ViewProps } from "./shown.ts";

/** The jobs that were sent to a peel. */
export function PeelJobs({ app, peel: { id } }: ViewProps) {
  const { value, problem } = useQuery(
    app,
    `${id} jobs`,
    (signal) => app.client.page(routes.listJobs, { target: id, limit: 200 }, signal),
    ["svc/job/"],
  );
  const columns = useMemo(() => jobColumns(app), [app]);
  return (
    <>
      <Problem problem={problem} />
      {value !== undefined && (
        <Table
          label={`Jobs of ${id}`}
          rows={value.items}
          rowKey={({ jid }) => jid}
          to={({ jid }) => `/jobs/${jid}`}
          go={app.router.go}
          keys={app.keys}
          columns={columns}
          empty={
            <Empty title="No jobs" command={`svc run ${id} test.ping`}>
              Masters remember none that was sent to this peel.
            </Empty>
          }
        />
      )}
    </>
  );
}

// Their order is that of time.
const [unsorted, wide] = [{ unsorted: true }, { unsorted: true, wide: true }] as const;

const jobColumns = ({ now }: Pick<App, "now">): readonly Column<ListedJob>[] => [
  monoColumn("function", "Function", (job) => job.function, unsorted),
  statusColumn("status", "Status", (job) => job.status, unsorted),
  numberColumn("targets", "Peels", (job) => job.targets, unsorted),
  textColumn("by", "By", (job) => job.created_by, wide),
  timeColumn(now, "at", "Created", (job) => job.created_at, unsorted),
];
