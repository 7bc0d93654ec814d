import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Keys } from "../keys.ts";
import type { Column } from "./column.ts";
import { rowHeight } from "./row-height.ts";
import { type SortOrder, sortRows } from "./sort-rows.ts";
import { TableHead } from "./table-head.tsx";
import { NotPrinted, Samples, Space } from "./table-parts.tsx";
import { useTableRows } from "./table-row.tsx";
import { useColumnWidths } from "./use-column-widths.ts";
import { usePrinting } from "./use-printing.ts";
import { useRowKeys } from "./use-row-keys.ts";
import { useSight } from "./use-sight.ts";

export type { Column } from "./column.ts";

export interface TableProps<Row> {
  /** What the table lists, for those who do not see it. */
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey(row: Row): string;
  /** The path where a row leads: its first column that is not bare becomes that link. */
  to?(row: Row): string;
  /** Follows such a link when the row is clicked elsewhere. */
  go?(path: string): void;
  /** With keys, `j` and `k` move between the rows, and Enter opens one. Only for the main table of a page. */
  keys?: Keys;
  /** It has no more rows than fit on the page: no scrolling of its own. */
  short?: true;
  selected?(row: Row): boolean;
  /** Gets the rows that are shown now, each time others are. */
  inSight?: { current: readonly Row[] };
  /** What stands there without rows. */
  empty?: ComponentChildren;
}

/**
 * A table that shows any number of rows: only those in sight are elements. It stays a real table, whose rows know
 * their place.
 */
export function Table<Row extends object>(props: TableProps<Row>) {
  const { label, rows, columns, rowKey, to, go, keys, short = false, selected } = props;
  const box = useRef<HTMLElement>(null);
  const order = useSignal<SortOrder | undefined>(undefined);
  const by = order.value;
  const sorted = useMemo(() => sortRows(rows, columns, by), [rows, columns, by]);
  const rowElements = useTableRows<Row>();
  const printing = usePrinting();
  const sight = useSight({ box, count: sorted.length, short, printing });
  const { fixed, samples } = useColumnWidths({ box, width: sight.width, rows, columns, sortedBy: by?.id });
  const widths = printing ? undefined : fixed;
  useRowKeys({ keys, box, rows: sorted, short });

  const visible = sorted.slice(sight.from, sight.to);
  if (props.inSight !== undefined) props.inSight.current = visible;
  if (rows.length === 0 && props.empty !== undefined) return <div class="table">{props.empty}</div>;
  const elements = rowElements(
    visible.map((row, at) => {
      const index = sight.from + at;
      const shown = { row, index, columns, go, path: to?.(row), isSelected: selected?.(row) };
      return [sight.slot(index) ?? rowKey(row), shown] as const;
    }),
  );
  const left = { rows: sorted.length - sight.to, columns: columns.length };
  return (
    <section
      class={short ? "table" : "table tall"}
      // Its head, its rows and its border.
      style={{ "--rows-height": `${(sorted.length + 1) * rowHeight + 2}px` }}
      ref={box}
      onScroll={sight.onScroll}
      // What scrolls can be scrolled by keys; a region needs a name.
      tabIndex={0}
      aria-label={`${label}, table`}
    >
      <table aria-label={label} aria-rowcount={sorted.length + 1} {...fixedTo(widths)}>
        <TableHead
          columns={columns}
          order={by}
          onOrder={(next) => {
            order.value = next;
          }}
          widths={widths}
        />
        <Space rows={sight.from} columns={columns.length} />
        <tbody>{elements}</tbody>
        {printing ? <NotPrinted {...left} /> : <Space {...left} />}
        <Samples rows={samples} columns={columns} rowKey={rowKey} />
      </table>
    </section>
  );
}

/** A table whose columns have their widths has the sum of them. */
const fixedTo = (widths: readonly number[] | undefined) =>
  widths === undefined
    ? {}
    : { class: "fixed", style: { width: `${widths.reduce((sum, one) => sum + one, 0)}px` } };
