import { useMemo } from "preact/hooks";
import { ApiError, type App, routes, useQuery } from "../../api/mod.ts";
import { Lanes } from "../../charts/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import type { ViewProps } from "./shown.ts";
import { type Entry, lanes, type Sources, timelineOf } from "./timeline.ts";
import { usePeelJobs } from "./use-peel-jobs.ts";

/** Masters remember jobs for a week. */
const shownMs = 7 * 24 * 3600_000;

/** What happened to a host: jobs, states, changes of facts and its enrollment on one axis. */
export function PeelTimeline({ app, peel }: ViewProps) {
  const { id } = peel;
  const { session } = app;
  const { value, problem } = useQuery(app, `${id} timeline`, (signal) => readSources(app, peel, signal), [
    ...["svc/peel/", "svc/enrollment/", "svc/compliance/"],
  ]);
  const jobs = usePeelJobs(app, id, session.may("jobs", "show"), !session.may("jobs", "list"));
  const sent = jobs.value?.items;
  const isRead = value !== undefined && (sent !== undefined || jobs.off || jobs.problem !== undefined);
  const entries = useMemo(
    () => (isRead ? timelineOf({ ...value, id, peel, ...(sent && { jobs: sent }) }) : undefined),
    [value, sent, isRead, id, peel],
  );
  const columns = useMemo(() => entryColumns(app), [app]);
  const until = app.now.value;
  const span = { from: until - shownMs, until };
  const marks = (lane: string) =>
    entries?.filter((entry) => entry.lane === lane && entry.at >= span.from && entry.at <= until) ?? [];
  return (
    <>
      <Problem problem={problem ?? jobs.problem} />
      {entries !== undefined && (
        <>
          <Card label={`Timeline of ${id}`} body="plain">
            <Lanes
              label="The last seven days"
              span={span}
              lanes={lanes.map((name) => ({ name, marks: marks(name) }))}
            />
          </Card>
          <Table
            label={`What happened to ${id}`}
            rows={entries}
            rowKey={({ lane, at, said }) => `${lane} ${at} ${said}`}
            to={({ to }) => to}
            go={app.router.go}
            keys={app.keys}
            columns={columns}
            empty={<Empty title="Nothing is known to have happened to this host" />}
          />
        </>
      )}
    </>
  );
}

/** Each part that the session may read: ten versions of facts at most. */
async function readSources(
  { client, session }: App,
  { id, enrollment_id: enrollment }: ViewProps["peel"],
  signal: AbortSignal,
): Promise<Pick<Sources, "changes" | "enrollment">> {
  const [history, record] = await Promise.all([
    session.may("facts", "read")
      ? client.call(routes.getFactsHistory, { id }, signal).catch(orNothing)
      : undefined,
    session.may("enrollments", "show")
      ? client.call(routes.showEnrollment, { id: enrollment }, signal).catch(orNothing)
      : undefined,
  ]);
  return {
    ...(history === undefined ? {} : { changes: history.changes }),
    ...(record === undefined ? {} : { enrollment: record.enrollment }),
  };
}

/** A host that has stored no facts yet, or whose record is gone. */
function orNothing(thrown: unknown): undefined {
  if (thrown instanceof ApiError && thrown.status === 404) return undefined;
  throw thrown;
}

const unsorted = { unsorted: true } as const;

const entryColumns = ({ now }: Pick<App, "now">): readonly Column<Entry>[] => [
  timeColumn(now, "at", "When", ({ at }) => new Date(at).toISOString(), unsorted),
  textColumn("lane", "Kind", ({ lane }) => lane, { unsorted: true, wide: true }),
  { id: "word", title: "Outcome", show: ({ outcome, word }) => <Status {...{ outcome, word }} /> },
  textColumn("said", "What happened", ({ said }) => said, unsorted),
];
