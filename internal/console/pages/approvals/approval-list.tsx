import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import { statusOf } from "./approval.ts";

/** Requests that wait for other operators, or waited. */
export function ApprovalList({ app, place }: { app: App; place: Place }) {
  const all = place.query.get("show") === "all";
  const { value, problem } = useQuery(
    app,
    "approvals",
    (signal) => app.client.call(routes.listApprovals, {}, signal),
    ["svc/approval/"],
  );
  const known = value?.approvals ?? [];
  const rows = all ? known : known.filter(({ state }) => state === "waiting");
  return (
    <div class="page tall">
      <header class="page-head">
        <h1>Approvals</h1>
        <span class="muted number" role="status">
          {value === undefined ? "Reading …" : `${rows.length.toLocaleString("en")} shown`}
        </span>
      </header>
      <div class="tools">
        <fieldset class="choice">
          <legend class="visually-hidden">Show</legend>
          {[false, true].map((one) => (
            <label key={String(one)}>
              <input
                type="radio"
                name="show"
                checked={all === one}
                onChange={() => app.router.go(one ? "/approvals?show=all" : "/approvals", { replace: true })}
              />
              <span>{one ? "All" : "Waiting"}</span>
            </label>
          ))}
        </fieldset>
      </div>
      <Problem problem={problem} />
      {value !== undefined && (
        <Table
          label="Requests"
          rows={rows}
          rowKey={({ id }) => id}
          to={({ id }) => `/approvals/${id}`}
          go={app.router.go}
          keys={app.keys}
          columns={[
            {
              id: "operation",
              title: "Operation",
              show: (one) => <span class="mono">{one.operation}</span>,
              by: (one) => one.operation,
            },
            {
              id: "state",
              title: "State",
              show: (one) => <Status {...statusOf(one)} />,
              by: (one) => one.state,
            },
            { id: "by", title: "Asked by", show: (one) => one.asked_by, by: (one) => one.asked_by },
            {
              id: "agreed",
              title: "Agreed",
              show: ({ agreed, needs }) => (
                <span class="number" title={agreed.join(", ")}>
                  {agreed.length} of {needs}
                </span>
              ),
            },
            { id: "rule", title: "Rule", wide: true, show: ({ rule }) => <span title={rule}>{rule}</span> },
            {
              id: "at",
              title: "Asked",
              wide: true,
              show: (one) => <Time at={one.asked_at} now={app.now} />,
              by: (one) => one.asked_at,
            },
            {
              id: "expires",
              title: "Expires",
              wide: true,
              show: (one) => <Time at={one.expires_at} now={app.now} />,
              by: (one) => one.expires_at,
            },
          ]}
          empty={
            <Empty title={all ? "No requests" : "Nothing waits"} command="svc roles show">
              A request waits here when a rule of a role says how many others must agree: approvals in the
              roles file. The command shows the rules in force.
            </Empty>
          }
        />
      )}
    </div>
  );
}
