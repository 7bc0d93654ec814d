import { type Column, classOf } from "./column.ts";
import type { SortOrder } from "./sort-rows.ts";

/** The head of a table: a click on the title of a column sorts by it. */
export function TableHead<Row>(props: {
  columns: readonly Column<Row>[];
  order: SortOrder | undefined;
  onOrder(order: SortOrder): void;
  /** Pixels by place; none are fixed without. */
  widths: readonly number[] | undefined;
}) {
  const { columns, order, onOrder, widths } = props;
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map((column, place) => (
          <th
            key={column.id}
            scope="col"
            class={classOf(column)}
            // A column that is not shown on this screen has no width.
            style={widths?.[place] ? { width: `${widths[place]}px` } : {}}
            {...(order?.id === column.id ? { "aria-sort": order.down ? "descending" : "ascending" } : {})}
          >
            {column.by === undefined ? (
              <span class={column.bare ? "visually-hidden" : undefined}>{column.title}</span>
            ) : (
              <button
                type="button"
                class="sorter"
                onClick={() => onOrder({ id: column.id, down: order?.id === column.id && !order.down })}
              >
                {column.title}
                {order?.id === column.id && <span aria-hidden="true">{order.down ? " ↓" : " ↑"}</span>}
              </button>
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}
