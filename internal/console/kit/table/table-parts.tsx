import { type Column, classOf } from "./column.ts";
import { rowHeight } from "./row-height.ts";

/** Stands for the rows that are not elements. */
export function Space({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tbody aria-hidden="true">
      <tr class="space">
        <td colSpan={columns} style={{ height: `${rows * rowHeight}px` }} />
      </tr>
    </tbody>
  );
}

/** Says on paper how many rows are missing there. */
export function NotPrinted({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tfoot>
      <tr>
        <td colSpan={columns}>{rows.toLocaleString("en")} more rows are not printed.</td>
      </tr>
    </tfoot>
  );
}

/** The rows that need the most room, while the browser fits the columns to them. */
export function Samples<Row>(props: {
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey(row: Row): string;
}) {
  const { rows, columns, rowKey } = props;
  if (rows.length === 0) return null;
  return (
    <tbody aria-hidden="true" class="samples">
      {rows.map((row) => (
        <tr key={rowKey(row)}>
          {columns.map((column) => (
            <td key={column.id} class={classOf(column)}>
              {column.show(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  );
}
