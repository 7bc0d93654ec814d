import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Status } from "../../kit/status.tsx";
import { type Column, Table } from "../../kit/table/table.tsx";
import { Duration } from "../../kit/time.tsx";
import { useNarrow } from "../../kit/use-narrow.ts";
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
  { id: "text", title: "Returned", show: ({ text }) => <span class="mono answer">{text}</span> },
];

/** With more rows, those in sight alone are elements, and all have one height. */
const maxWhole = 100;

/** The peels of a job; each row leads to all of what its peel returned. */
export function JobTable({ app, jid, rows }: { app: App; jid: string; rows: readonly JobRow[] }) {
  // A phone has no room for an answer in a line: there it has as many as it needs.
  const isWhole = useNarrow() && rows.length <= maxWhole;
  return (
    <Table
      // It is measured again where this changes.
      key={isWhole ? "whole" : "in sight"}
      {...(isWhole && { short: true as const })}
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
