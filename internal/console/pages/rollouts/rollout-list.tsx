import { useLayoutEffect } from "preact/hooks";
import { type App, allPages, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";

const statuses = ["running", "paused", "completed", "failed", "aborted"] as const;
const mostRollouts = 2_000;

/** Rollouts, newest first. */
export function RolloutList({ app, place }: { app: App; place: Place }) {
  const status = statuses.find((one) => one === place.query.get("status"));
  const { value, problem } = useQuery(
    app,
    status ?? "all",
    (signal) =>
      allPages(
        app,
        routes.listRollouts,
        { limit: 500, ...(status === undefined ? {} : { status }) },
        { most: mostRollouts, signal },
      ),
    ["svc/rollout/"],
  );
  const mayStart = app.session.may("rollouts", "start");
  useLayoutEffect(
    () =>
      mayStart
        ? app.keys.bind({ n: { title: "New rollout", run: () => app.router.go("/rollouts/new") } })
        : undefined,
    [mayStart],
  );
  return (
    <div class="page tall">
      <header class="page-head">
        <h1>Rollouts</h1>
        <span class="muted number" role="status">
          {value === undefined ? "Reading …" : `${value.items.length.toLocaleString("en")} shown`}
        </span>
        {mayStart && (
          <div class="actions">
            <a class="button primary" href={hrefOf("/rollouts/new")}>
              New rollout
            </a>
          </div>
        )}
      </header>
      <nav class="choices" aria-label="Status">
        {[undefined, ...statuses].map((one) => (
          <a
            key={one ?? "all"}
            class="button"
            href={hrefOf(one === undefined ? "/rollouts" : `/rollouts?status=${one}`)}
            {...(one === status ? { "aria-current": "page" } : {})}
          >
            {one === undefined ? "All" : `${one[0]?.toUpperCase()}${one.slice(1)}`}
          </a>
        ))}
      </nav>
      <Problem problem={problem} />
      {value !== undefined && (
        <Table
          label="Rollouts"
          rows={value.items}
          rowKey={({ id }) => id}
          to={({ id }) => `/rollouts/${id}`}
          go={app.router.go}
          keys={app.keys}
          columns={[
            {
              id: "function",
              title: "Function",
              show: (one) => <span class="mono">{one.function}</span>,
              by: (one) => one.function,
            },
            {
              id: "status",
              title: "Status",
              show: (one) => <Status word={one.status} />,
              by: (one) => one.status,
            },
            { id: "wave", title: "Waves", align: "end", show: (one) => `${one.wave} of ${one.waves}` },
            {
              id: "targets",
              title: "Peels",
              align: "end",
              wide: true,
              show: (one) => one.targets.toLocaleString("en"),
              by: (one) => one.targets,
            },
            {
              id: "failures",
              title: "Not ok",
              align: "end",
              show: (one) => one.failures || "",
              by: (one) => one.failures,
            },
            {
              id: "target",
              title: "Target",
              wide: true,
              show: (one) => <span class="mono">{one.target ?? "list"}</span>,
            },
            { id: "by", title: "By", wide: true, show: (one) => one.created_by, by: (one) => one.created_by },
            {
              id: "at",
              title: "Created",
              show: (one) => <Time at={one.created_at} now={app.now} />,
              by: (one) => one.created_at,
            },
          ]}
          empty={
            status === undefined ? (
              <Empty
                title="No rollouts yet"
                command="svc rollout start '*' state.apply --canary 1 --waves 25%"
              >
                A rollout runs a function on one host first, then in waves, and stops when too many fail.
                {mayStart && (
                  <>
                    {" "}
                    <a href={hrefOf("/rollouts/new")}>Start one</a>, here or with svc.
                  </>
                )}
              </Empty>
            ) : (
              <Empty title={`No rollout is ${status}`}>
                <a href={hrefOf("/rollouts")}>Show all rollouts</a>
              </Empty>
            )
          }
        />
      )}
    </div>
  );
}
