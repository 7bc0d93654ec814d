import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Status } from "../../kit/status.tsx";
import { type Column, Table } from "../../kit/table/table.tsx";
import { Duration } from "../../kit/time.tsx";
import type { JobRow } from "./job-rows.ts";

// Built once: what does not change is not drawn again when a row does.
const columns: readonly Column<JobRow>[] = [
  { id: "peel", title: "Peel", show: ({ peel }) => peel, by: ({ peel }) => peel },
  {
    id: "outcome",
    title: "Outcome",
    show: ({ outcome }) => <Status word={outcome} />,
    by: ({ outcome }) => outcome,
  },
  {
    id: "took",
    title: "Took",
    align: "end",
    wide: true,
    show: ({ durationMs: ms }) => (ms === undefined ? "" : <Duration ms={ms} />),
    by: ({ durationMs }) => durationMs ?? -1,
  },
  { id: "text", title: "Returned", show: ({ text }) => <span class="mono">{text}</span> },
];

/** The peels of a job; each row leads to all of what its peel returned. */
export function JobTable({ app, jid, rows }: { app: App; jid: string; rows: readonly JobRow[] }) {
  return (
    <Table
      label="Peels of the job"
      rows={rows}
      rowKey={({ peelId }) => peelId}
      columns={columns}
      to={({ peel }) => `/jobs/${jid}/${peel}`}
      go={app.router.go}
      keys={app.keys}
      empty={<Empty title="No peel of the job ended like this" />}
    />
  );
}
