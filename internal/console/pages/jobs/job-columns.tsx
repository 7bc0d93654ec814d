import { contentCell } from "../../../wire/content-words.ts";
import type { App, ListedJob } from "../../api/mod.ts";
import type { Column } from "../../kit/table/column.ts";
import {
  callColumn,
  monoColumn,
  numberColumn,
  statusColumn,
  textColumn,
  timeColumn,
} from "../../kit/table/columns.tsx";
import { Duration } from "../../kit/time.tsx";

/** Every column of the list of jobs. */
export const jobColumns = ({ now }: Pick<App, "now">): readonly Column<ListedJob>[] => [
  callColumn(),
  statusColumn("status", "Status", (job) => job.status),
  numberColumn("targets", "Peels", (job) => job.targets, { wide: true }),
  {
    id: "bad",
    title: "Not ok",
    align: "end",
    show: (job) => notOk(job) || "",
    by: notOk,
  },
  {
    id: "target",
    title: "Target",
    wide: true,
    show: (job) => (
      <span class="mono snug" title={job.target}>
        {job.target ?? job.schedule ?? "list"}
      </span>
    ),
    by: (job) => job.target ?? "",
  },
  textColumn("by", "By", byWords, { wide: true }),
  {
    id: "took",
    title: "Took",
    wide: true,
    align: "end",
    show: ({ created_at: from, finished_at: to }) =>
      to === undefined ? "" : <Duration ms={Date.parse(to) - Date.parse(from)} />,
  },
  timeColumn(now, "at", "Created", (job) => job.created_at),
  monoColumn("files", "Files", ({ content }) => content && contentCell(content), {
    wide: true,
    unsorted: true,
  }),
];

/** The caller of a job, and what made it where that was not the request itself. */
const byWords = ({ created_by: by, source }: ListedJob): string =>
  source === undefined || source === "operator" || source === by ? by : `${by}, ${source}`;

/** Peels on which a job ended, and not well. */
const notOk = ({ counts }: ListedJob): number =>
  Object.entries(counts).reduce(
    (sum, [outcome, count]) => (outcome === "ok" || outcome === "pending" ? sum : sum + count),
    0,
  );
