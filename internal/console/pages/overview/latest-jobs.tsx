import { useMemo } from "preact/hooks";
import type { App } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { hrefOf } from "../../kit/router.ts";
import type { Column } from "../../kit/table/column.ts";
import {
  callColumn,
  monoColumn,
  numberColumn,
  statusColumn,
  textColumn,
  timeColumn,
} from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";

/** What the overview shows of a job. */
export interface LatestJob {
  jid: string;
  function: string;
  args_text?: string | undefined;
  target?: string | undefined;
  targets: number;
  status: string;
  created_at: string;
  created_by: string;
}

const maxShown = 8;
// Their order is that of time.
const [unsorted, wide] = [{ unsorted: true }, { unsorted: true, wide: true }] as const;

/** The newest jobs. */
export function LatestJobs({ app, jobs }: { app: App; jobs: readonly LatestJob[] }) {
  const columns = useMemo(() => jobColumns(app), [app]);
  const all = (
    <a class="small" href={hrefOf("/jobs")}>
      All jobs
    </a>
  );
  return (
    <Card id="jobs-head" title="Latest jobs" beside={all}>
      <Table
        label="Latest jobs"
        short
        rows={jobs.slice(0, maxShown)}
        rowKey={({ jid }) => jid}
        to={({ jid }) => `/jobs/${jid}`}
        go={app.router.go}
        columns={columns}
      />
    </Card>
  );
}

const jobColumns = ({ now }: Pick<App, "now">): readonly Column<LatestJob>[] => [
  callColumn(unsorted),
  statusColumn("status", "Status", (job) => job.status, unsorted),
  numberColumn("targets", "Peels", (job) => job.targets, unsorted),
  monoColumn("target", "Target", (job) => job.target ?? "listed peels", wide),
  textColumn("by", "By", (job) => job.created_by, wide),
  timeColumn(now, "at", "Created", (job) => job.created_at, unsorted),
];
