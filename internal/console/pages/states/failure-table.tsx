import { hrefOf } from "../../kit/router.ts";
import type { Column } from "../../kit/table/column.ts";
import { longColumn, monoColumn, numberColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import type { TopFailure } from "./top-failures.ts";

const columns: readonly Column<TopFailure>[] = [
  {
    id: "state",
    title: "State",
    show: ({ id, function: name }) => (
      <span title={`${name} ${id}`}>
        <span class="mono">{name}</span> {id}
      </span>
    ),
  },
  numberColumn("peels", "Peels", ({ peels }) => peels.length, { unsorted: true }),
  {
    id: "first",
    title: "One of them",
    show: ({ peels: [first = ""] }) => <a href={hrefOf(`/peels/${first}/states`)}>{first}</a>,
  },
  monoColumn("at", "Declared", ({ at }) => at, { wide: true, unsorted: true }),
  longColumn("comment", "What it said", ({ comment }) => comment, { wide: true, unsorted: true }),
];

/** The states that fail on the most of the peels that are listed. */
export function FailureTable({ failures }: { failures: readonly TopFailure[] }) {
  return (
    <section class="stack" aria-labelledby="failures-head">
      <h2 id="failures-head">Top failures</h2>
      <Table
        label="Top failures"
        rows={failures}
        rowKey={({ id, function: name, at }) => JSON.stringify([id, name, at])}
        short
        columns={columns}
      />
    </section>
  );
}
