import type { App } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { monoColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { type AuditEntry, outcomeOf, subjectText } from "./entry.ts";

const [unsorted, wide] = [{ unsorted: true }, { unsorted: true, wide: true }] as const;

/** The columns of the list of entries, which has its own order: a page of it says nothing of the others. */
export const entryColumns = ({ now }: Pick<App, "now">): readonly Column<AuditEntry>[] => [
  { id: "seq", title: "Number", show: ({ seq }) => <span class="number">{seq}</span> },
  timeColumn(now, "at", "When", ({ at }) => at, unsorted),
  textColumn("operator", "Operator", ({ operator }) => operator, unsorted),
  monoColumn("action", "Operation", ({ action }) => action, unsorted),
  {
    id: "outcome",
    title: "Outcome",
    show: (entry) => <Status word={entry.outcome} outcome={outcomeOf(entry)} />,
  },
  textColumn("via", "Via", ({ via }) => via, wide),
  {
    id: "subjects",
    title: "About",
    wide: true,
    show: (entry) => (
      <span class="mono" title={subjectText(entry)}>
        {subjectText(entry)}
      </span>
    ),
  },
  textColumn("reason", "Reason", ({ reason }) => reason, wide),
];
