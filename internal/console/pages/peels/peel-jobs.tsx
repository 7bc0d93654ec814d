import { routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import type { ViewProps } from "./shown.ts";

/** The jobs that were sent to a peel. */
export function PeelJobs({ app, peel: { id } }: ViewProps) {
  const { value, problem } = useQuery(
    app,
    `${id} jobs`,
    (signal) => app.client.page(routes.listJobs, { target: id, limit: 200 }, signal),
    ["svc/job/"],
  );
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
          columns={[
            { id: "function", title: "Function", show: (job) => <span class="mono">{job.function}</span> },
            { id: "status", title: "Status", show: (job) => <Status word={job.status} /> },
            { id: "targets", title: "Peels", align: "end", show: (job) => job.targets.toLocaleString("en") },
            { id: "by", title: "By", wide: true, show: (job) => job.created_by },
            { id: "at", title: "Created", show: (job) => <Time at={job.created_at} now={app.now} /> },
          ]}
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
