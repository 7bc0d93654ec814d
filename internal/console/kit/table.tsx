import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { type Column, classOf } from "./column.ts";
import type { Keys } from "./keys.ts";
import { type SortOrder, TableHead } from "./table-head.tsx";
import { type TableRowProps, useTableRows } from "./table-row.tsx";
import { useColumnWidths } from "./use-column-widths.ts";
import { usePrinting } from "./use-printing.ts";
import { slotOf, visibleRows } from "./visible-rows.ts";

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

const rowHeight = 32;
/** More rows than these are no reading on paper, and the browser would stand still. */
const mostPrinted = 5_000;
/** Rows come into the table and leave it in groups: most frames of scrolling then draw nothing. */
const group = 4 * rowHeight;

/**
 * A table that shows any number of rows: only those in sight are elements. It stays a real table, whose rows know
 * their place.
 */
export function Table<Row extends object>(props: TableProps<Row>) {
  const { label, rows, columns, rowKey, to: way, go, keys, short, selected } = props;
  const box = useRef<HTMLElement>(null);
  const sight = useSignal({ top: 0, height: 800 });
  const width = useSignal(0);
  const order = useSignal<SortOrder | undefined>(undefined);
  const wanted = useRef<number | undefined>(undefined);
  const shown = useRef({ from: 0, to: 0, first: 0 });
  const by = order.value;
  const sorted = useMemo(() => sortRows(rows, columns, by), [rows, columns, by]);
  const rowElements = useTableRows<Row>();
  const { fixed, samples } = useColumnWidths({ box, width, rows, columns, sortedBy: by?.id });
  const printing = usePrinting();

  const look = () => {
    const element = box.current;
    if (element === null) return;
    const top = Math.floor(element.scrollTop / group) * group;
    const { top: before, height } = sight.peek();
    if (top === before) return;
    // The element of the row that has the focus is about to show another row, and Enter must not open that one.
    const row = element.contains(document.activeElement) ? document.activeElement?.closest("tr") : undefined;
    const index = Number(row?.getAttribute("aria-rowindex") ?? 1) - 2;
    const { from, to } = visibleRows(sorted.length, top, height + group, rowHeight);
    if (index >= 0 && (index < from || index >= to)) element.focus({ preventScroll: true });
    sight.value = { top, height };
  };
  useLayoutEffect(() => {
    if (short || box.current === null) return;
    // The size comes with the observer, at once and at each change: reading it while scrolling would make the
    // browser lay out the page in the middle of a frame.
    const observer = new ResizeObserver(([entry]) => {
      const size = entry?.contentRect;
      if (size === undefined || size.height === 0) return;
      width.value = size.width;
      if (size.height !== sight.peek().height) sight.value = { ...sight.peek(), height: size.height };
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [short, rows.length === 0]);

  const whole = { from: 0, to: printing ? Math.min(sorted.length, mostPrinted) : sorted.length };
  const { from, to } =
    short || printing
      ? whole
      : visibleRows(sorted.length, sight.value.top, sight.value.height + group, rowHeight);
  // After a jump the elements stay in their order; after a step those of the rows that left go to the other end.
  if (from >= shown.current.to || to <= shown.current.from) shown.current.first = from;
  shown.current = { ...shown.current, from, to };
  const visible = sorted.slice(from, to);
  if (props.inSight !== undefined) props.inSight.current = visible;

  const focusRow = (index: number) => {
    const link = box.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${index + 2}"] a`);
    wanted.current = link ? undefined : index;
    link?.focus({ preventScroll: short !== true });
  };
  useEffect(() => {
    if (wanted.current !== undefined) focusRow(wanted.current);
  });
  // In the same moment in which the rows are shown, their keys work.
  useLayoutEffect(() => {
    if (keys === undefined) return;
    const step = (by: number) => () => {
      const at = Number(document.activeElement?.closest("tr")?.getAttribute("aria-rowindex") ?? 1) - 2;
      const next = Math.min(Math.max(at + by, 0), sorted.length - 1);
      if (next < 0) return;
      if (!short && box.current !== null) reveal(box.current, next);
      focusRow(next);
    };
    return keys.bind({
      j: { title: "Next row", run: step(1) },
      k: { title: "Previous row", run: step(-1) },
      Enter: { title: "Open the row" },
    });
  }, [keys, sorted]);

  if (rows.length === 0 && props.empty !== undefined) return <div class="table">{props.empty}</div>;
  const rowAt = (row: Row, index: number): TableRowProps<Row> => ({
    ...{ row, index, columns, go },
    path: way?.(row),
    isSelected: selected?.(row),
  });
  return (
    <section
      class={short ? "table" : "table tall"}
      // Its head, its rows and its border.
      style={{ "--rows-height": `${(sorted.length + 1) * rowHeight + 2}px` }}
      ref={box}
      onScroll={look}
      // What scrolls can be scrolled by keys; a region needs a name.
      tabIndex={0}
      aria-label={`${label}, table`}
    >
      <table
        aria-label={label}
        aria-rowcount={sorted.length + 1}
        {...(fixed === undefined || printing
          ? {}
          : { class: "fixed", style: { width: `${fixed.reduce((sum, one) => sum + one, 0)}px` } })}
      >
        <TableHead
          columns={columns}
          order={by}
          onOrder={(next) => {
            order.value = next;
          }}
          widths={printing ? undefined : fixed}
        />
        <Space rows={from} columns={columns.length} />
        <tbody>
          {rowElements(
            visible.map((row, at) => {
              const index = from + at;
              const slot = () => slotOf(index - shown.current.first, sight.value.height + group, rowHeight);
              return [short || printing ? rowKey(row) : slot(), rowAt(row, index)] as const;
            }),
          )}
        </tbody>
        {printing ? (
          <NotPrinted rows={sorted.length - to} columns={columns.length} />
        ) : (
          <Space rows={sorted.length - to} columns={columns.length} />
        )}
        {samples.length > 0 && (
          <tbody aria-hidden="true" class="samples">
            {samples.map((row) => (
              <tr key={rowKey(row)}>
                {columns.map((column) => (
                  <td key={column.id} class={classOf(column)}>
                    {column.show(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        )}
      </table>
    </section>
  );
}

/** Stands for the rows that are not elements. */
function Space({ rows, columns }: { rows: number; columns: number }) {
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
function NotPrinted({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tfoot>
      <tr>
        <td colSpan={columns}>{rows.toLocaleString("en")} more rows are not printed.</td>
      </tr>
    </tfoot>
  );
}

/** Scrolls until the row is in sight, below the header. */
function reveal(box: HTMLElement, index: number): void {
  const [top, bottom] = [index * rowHeight, (index + 2) * rowHeight];
  if (top < box.scrollTop) box.scrollTop = top;
  else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
}

/** The rows in the order of a column; equal ones stay as they were. */
function sortRows<Row>(
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
