import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo } from "preact/hooks";
import type { Column } from "./column.ts";
import { type KnownLengths, widestRows } from "./widest-rows.ts";

/** How wide the columns of a table are. */
export interface ColumnWidths<Row> {
  /** Pixels by place of the column; `undefined` while the browser is asked, with `samples` in the table. */
  fixed: readonly number[] | undefined;
  /** Rows that need the most room, for this one time. */
  samples: readonly Row[];
}

interface Measured {
  key: string;
  lengths: readonly number[];
  widths: readonly number[];
}

/**
 * Lets the browser fit the columns to their content once, and keeps the result. Otherwise it does so again whenever a
 * row comes into sight, which is most of the work of scrolling, and makes the columns jump.
 *
 * @param width of the box of the table, px; 0 while it is not known, and where the browser places the columns
 * @param sortedBy the column whose head has an arrow
 */
export function useColumnWidths<Row extends object>(options: {
  box: RefObject<HTMLElement | null>;
  width: ReadonlySignal<number>;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  sortedBy: string | undefined;
}): ColumnWidths<Row> {
  const { box, width, rows, columns, sortedBy } = options;
  const measured = useSignal<Measured | undefined>(undefined);
  const lengths = useMemo<KnownLengths<Row>>(() => new WeakMap(), [columns]);
  const isOff = width.value === 0;
  const widest = useMemo(
    () => (isOff ? { rows: [], lengths: [] } : widestRows(rows, columns, lengths)),
    [rows, columns, isOff],
  );
  const key = [width.value, sortedBy, ...columns.map(({ id }) => id)].join(" ");
  const known = measured.value;
  const fits =
    known?.key === key && widest.lengths.every((length, place) => length <= (known.lengths[place] ?? 0));
  useLayoutEffect(() => {
    if (fits || isOff || rows.length === 0 || box.current === null) return;
    const widths = [...box.current.querySelectorAll("th")].map((head) => head.getBoundingClientRect().width);
    measured.value = { key, lengths: widest.lengths, widths };
  });
  return { fixed: fits ? known.widths : undefined, samples: fits ? [] : widest.rows };
}
