import { useMemo } from "preact/hooks";
import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { callColumn, monoColumn, numberColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import { Duration } from "../../kit/time.tsx";
import type { ViewProps } from "./shown.ts";
import { type PeelJob, usePeelJobs } from "./use-peel-jobs.ts";

/** The jobs that were sent to a peel, with what became of them there. A row leads to what this peel answered. */
export function PeelJobs({ app, peel: { id } }: ViewProps) {
  const mayShow = app.session.may("jobs", "show");
  const { value, problem } = usePeelJobs(app, id, mayShow);
  const columns = useMemo(() => jobColumns(app), [app]);
  return (
    <>
      <Problem problem={problem} />
      {value !== undefined && (
        <Table
          label={`Jobs of ${id}`}
          rows={value.items}
          rowKey={({ jid }) => jid}
          to={({ jid }) => (mayShow ? `/jobs/${jid}/${id}` : `/jobs/${jid}`)}
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
      {value?.more && (
        <p class="muted small">
          The newest {value.items.length} are listed. <code>svc job list --target {id}</code> lists all.
        </p>
      )}
    </>
  );
}

// Their order is that of time.
const [unsorted, wide] = [{ unsorted: true }, { unsorted: true, wide: true }] as const;

const jobColumns = ({ now }: Pick<App, "now">): readonly Column<PeelJob>[] => [
  callColumn(unsorted),
  {
    id: "outcome",
    title: "On this peel",
    show: ({ outcome }) => (outcome === undefined ? "" : <Status word={outcome} />),
  },
  {
    id: "took",
    title: "Took",
    align: "end",
    show: ({ durationMs: ms }) => (ms === undefined ? "" : <Duration ms={ms} />),
  },
  monoColumn("target", "Target", (job) => job.target ?? job.schedule ?? "", wide),
  {
    id: "job",
    title: "Whole job",
    wide: true,
    show: ({ jid, status }) => (
      <a href={hrefOf(`/jobs/${jid}`)} title="The job on all of its peels">
        <Status word={status} />
      </a>
    ),
  },
  numberColumn("targets", "Peels", (job) => job.targets, wide),
  textColumn("by", "By", (job) => job.created_by, wide),
  timeColumn(now, "at", "Created", (job) => job.created_at, unsorted),
];
