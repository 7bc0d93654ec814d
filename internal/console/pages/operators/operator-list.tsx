import { type App, routes, useAnswer } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { ShortKey } from "../../kit/short-key.tsx";
import type { Column } from "../../kit/table/column.ts";
import { textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import { standingColumn } from "./standing.tsx";
import { Tags } from "./tags.tsx";

/** Every operator that masters know. */
export function OperatorList({ app }: { app: App }) {
  const { value, problem } = useAnswer(app, routes.listOperators, {});
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
          columns={operatorColumns(app)}
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

type Operator = NonNullable<(typeof routes.listOperators)["types"]>["answer"]["operators"][number];

const operatorColumns = ({ now, say }: Pick<App, "now" | "say">): readonly Column<Operator>[] => [
  textColumn("name", "Operator", ({ name }) => name),
  standingColumn(({ state }) => state),
  { id: "roles", title: "Roles", show: ({ roles }) => <Tags words={roles} /> },
  {
    id: "administrator",
    title: "Administrator",
    wide: true,
    show: ({ administrator }) => (administrator ? "yes" : ""),
    by: ({ administrator }) => Number(administrator),
  },
  timeColumn(now, "expires", "Expires", ({ expires_at: at }) => at, { wide: true }),
  {
    id: "key",
    title: "Key",
    wide: true,
    show: ({ name, public_key: key }) => <ShortKey value={key} of={name} say={say} />,
  },
];
