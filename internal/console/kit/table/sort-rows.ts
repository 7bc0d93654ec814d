import type { Column } from "./column.ts";

/** By which column a table is sorted. */
export interface SortOrder {
  id: string;
  down: boolean;
}

/** The rows in the order of a column; equal ones stay as they were. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: SortOrder | undefined,
): readonly Row[] {
  const by = columns.find(({ id }) => id === order?.id)?.by;
  if (by === undefined) return rows;
  const sign = order?.down ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [by(one), by(other)];
    return a < b ? -sign : a > b ? sign : 0;
  });
}
