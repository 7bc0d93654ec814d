import type { App } from "../../api/mod.ts";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";

/** What the overview shows of a job. */
export interface LatestJob {
  jid: string;
  function: string;
  target?: string | undefined;
  targets: number;
  status: string;
  created_at: string;
  created_by: string;
}

const mostShown = 8;

/** The newest jobs. */
export function LatestJobs({ app, jobs }: { app: App; jobs: readonly LatestJob[] }) {
  return (
    <section class="card" aria-labelledby="jobs-head">
      <header>
        <h2 id="jobs-head">Latest jobs</h2>
        <a class="small" href={hrefOf("/jobs")}>
          All jobs
        </a>
      </header>
      <Table
        label="Latest jobs"
        short
        rows={jobs.slice(0, mostShown)}
        rowKey={({ jid }) => jid}
        to={({ jid }) => `/jobs/${jid}`}
        go={app.router.go}
        columns={[
          { id: "function", title: "Function", show: (job) => <span class="mono">{job.function}</span> },
          { id: "status", title: "Status", show: (job) => <Status word={job.status} /> },
          { id: "targets", title: "Peels", align: "end", show: (job) => job.targets.toLocaleString("en") },
          {
            id: "target",
            title: "Target",
            wide: true,
            show: (job) => <span class="mono">{job.target ?? "list"}</span>,
          },
          { id: "by", title: "By", wide: true, show: (job) => job.created_by },
          { id: "at", title: "Created", show: (job) => <Time at={job.created_at} now={app.now} /> },
        ]}
      />
    </section>
  );
}
