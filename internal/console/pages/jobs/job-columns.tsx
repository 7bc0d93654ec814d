import type { App, ListedJob } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table.tsx";
import { Duration, Time } from "../../kit/time.tsx";

/** Every column of the list of jobs. */
export const jobColumns = (app: Pick<App, "now">): readonly Column<ListedJob>[] => [
  {
    id: "function",
    title: "Function",
    show: (job) => <span class="mono">{job.function}</span>,
    by: (job) => job.function,
  },
  {
    id: "status",
    title: "Status",
    show: (job) => <Status word={job.status} />,
    by: (job) => job.status,
  },
  {
    id: "targets",
    title: "Peels",
    align: "end",
    wide: true,
    show: (job) => job.targets.toLocaleString("en"),
    by: (job) => job.targets,
  },
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
    show: (job) => <span class="mono">{job.target ?? job.schedule ?? "list"}</span>,
    by: (job) => job.target ?? "",
  },
  { id: "source", title: "From", wide: true, show: (job) => job.source ?? "" },
  { id: "by", title: "By", wide: true, show: (job) => job.created_by, by: (job) => job.created_by },
  {
    id: "took",
    title: "Took",
    wide: true,
    align: "end",
    show: ({ created_at: from, finished_at: to }) =>
      to === undefined ? "" : <Duration ms={Date.parse(to) - Date.parse(from)} />,
  },
  {
    id: "at",
    title: "Created",
    show: (job) => <Time at={job.created_at} now={app.now} />,
    by: (job) => job.created_at,
  },
];

/** Peels on which a job ended, and not well. */
const notOk = ({ counts }: ListedJob): number =>
  Object.entries(counts).reduce(
    (sum, [outcome, count]) => (outcome === "ok" || outcome === "pending" ? sum : sum + count),
    0,
  );
