import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { type App, useJobs } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import { Table } from "../../kit/table.tsx";
import { jobColumns } from "./job-columns.tsx";

const mostJobs = 2_000;
const statuses = ["running", "failed", "completed", "cancelled"] as const;

/** Jobs, newest first. The address has the filters, so that it can be sent to others. */
export function JobList({ app, place }: { app: App; place: Place }) {
  const status = statuses.find((one) => one === place.query.get("status"));
  const fn = place.query.get("function") ?? "";
  const typed = useSignal(fn);
  const field = useRef<HTMLInputElement>(null);
  const filter = { ...(status === undefined ? {} : { status }), ...(fn === "" ? {} : { function: fn }) };
  const { value, problem } = useJobs(app, filter, { most: mostJobs });
  // The same objects each time: the table draws only the rows that changed.
  const columns = useMemo(() => jobColumns(app), [app]);
  const mayRun = app.session.may("jobs", "run");
  useLayoutEffect(
    () =>
      app.keys.bind({
        "/": { title: "Filter by function", run: () => field.current?.focus() },
        ...(mayRun ? { n: { title: "New job", run: () => app.router.go("/jobs/new") } } : {}),
      }),
    [mayRun],
  );
  const withStatus = (one: string | undefined) => {
    const query = new URLSearchParams();
    if (one !== undefined) query.set("status", one);
    if (fn !== "") query.set("function", fn);
    return query.size === 0 ? "/jobs" : `/jobs?${query}`;
  };
  return (
    <div class="page tall">
      <header class="page-head">
        <h1>Jobs</h1>
        <span class="muted number" role="status">
          {value === undefined
            ? "Reading …"
            : `${value.items.length.toLocaleString("en")}${value.more ? "+" : ""} shown`}
        </span>
        {mayRun && (
          <div class="actions">
            <a class="button primary" href={hrefOf("/jobs/new")}>
              New job
            </a>
          </div>
        )}
      </header>
      <div class="tools">
        <nav class="choices" aria-label="Status">
          {[undefined, ...statuses].map((one) => (
            <a
              key={one ?? "all"}
              class="button"
              href={hrefOf(withStatus(one))}
              {...(one === status ? { "aria-current": "page" } : {})}
            >
              {one === undefined ? "All" : `${one[0]?.toUpperCase()}${one.slice(1)}`}
            </a>
          ))}
        </nav>
        <form
          class="target"
          onSubmit={(event) => {
            event.preventDefault();
            const query = new URLSearchParams(place.query);
            if (typed.value.trim() === "") query.delete("function");
            else query.set("function", typed.value.trim());
            app.router.go(query.size === 0 ? "/jobs" : `/jobs?${query}`, { replace: true });
          }}
        >
          <label class="visually-hidden" for="jobs-function">
            Filter by function, then Enter
          </label>
          <input
            id="jobs-function"
            ref={field}
            class="input mono"
            type="search"
            placeholder="Function: state.*"
            value={typed.value}
            onInput={({ currentTarget }) => {
              typed.value = currentTarget.value;
            }}
          />
        </form>
      </div>
      <Problem problem={problem} />
      {value !== undefined && (
        <Table
          label="Jobs"
          rows={value.items}
          rowKey={({ jid }) => jid}
          to={({ jid }) => `/jobs/${jid}`}
          go={app.router.go}
          keys={app.keys}
          columns={columns}
          empty={
            status === undefined && fn === "" ? (
              <Empty title="No jobs yet" command="svc run '*' test.ping">
                {mayRun ? (
                  <>
                    <a href={hrefOf("/jobs/new")}>Run a function</a>, here or with svc.
                  </>
                ) : (
                  "Your roles do not include running jobs. What others run appears here."
                )}
              </Empty>
            ) : (
              <Empty title="No job matches">
                <a href={hrefOf("/jobs")}>Show all jobs</a>
              </Empty>
            )
          }
        />
      )}
    </div>
  );
}
