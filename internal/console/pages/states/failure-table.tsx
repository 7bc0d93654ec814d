import { hrefOf } from "../../kit/router.ts";
import { Table } from "../../kit/table.tsx";
import type { TopFailure } from "./top-failures.ts";

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
        columns={[
          {
            id: "state",
            title: "State",
            show: ({ id, function: name }) => (
              <span title={`${name} ${id}`}>
                <span class="mono">{name}</span> {id}
              </span>
            ),
          },
          {
            id: "peels",
            title: "Peels",
            align: "end",
            show: ({ peels }) => peels.length.toLocaleString("en"),
          },
          {
            id: "first",
            title: "One of them",
            show: ({ peels: [first = ""] }) => <a href={hrefOf(`/peels/${first}/states`)}>{first}</a>,
          },
          { id: "at", title: "Declared", wide: true, show: ({ at }) => <span class="mono">{at}</span> },
          {
            id: "comment",
            title: "What it said",
            wide: true,
            show: ({ comment }) => <span title={comment}>{comment}</span>,
          },
        ]}
      />
    </section>
  );
}
