import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import { standings } from "./standing.ts";
import { Tags } from "./tags.tsx";

/** Everyone whom masters know. */
export function OperatorList({ app }: { app: App }) {
  const { value, problem } = useQuery(app, "operators", (signal) =>
    app.client.call(routes.listOperators, {}, signal),
  );
  return (
    <>
      <Problem problem={problem} />
      {value !== undefined && (
        <Table
          label="Operators"
          rows={value.operators}
          rowKey={({ name }) => name}
          to={({ name }) => `/operators/${encodeURIComponent(name)}`}
          go={app.router.go}
          keys={app.keys}
          columns={[
            { id: "name", title: "Operator", show: ({ name }) => name, by: ({ name }) => name },
            {
              id: "state",
              title: "State",
              show: ({ state }) => <Status word={state} outcome={standings[state] ?? "skipped"} />,
              by: ({ state }) => state,
            },
            { id: "roles", title: "Roles", show: ({ roles }) => <Tags words={roles} /> },
            {
              id: "administrator",
              title: "Administrator",
              wide: true,
              show: ({ administrator }) => (administrator ? "yes" : ""),
              by: ({ administrator }) => Number(administrator),
            },
            {
              id: "expires",
              title: "Expires",
              wide: true,
              show: ({ expires_at: at }) => (at === undefined ? "" : <Time at={at} now={app.now} />),
              by: ({ expires_at: at }) => at ?? "",
            },
            {
              id: "key",
              title: "Key",
              wide: true,
              show: ({ public_key }) => <span class="mono">{public_key}</span>,
            },
          ]}
          empty={
            <Empty
              title="No operators yet"
              command="svc operator add anna --role operator --with-key > anna.operator"
            >
              Each person gets a key of their own, so that the audit names them. An administrator signs the
              record.
            </Empty>
          }
        />
      )}
    </>
  );
}
