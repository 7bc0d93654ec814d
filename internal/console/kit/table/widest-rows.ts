import { type ComponentChildren, isValidElement } from "preact";
import type { Column } from "./column.ts";

/** Which rows need the most room. */
export interface WidestRows<Row> {
  rows: readonly Row[];
  /** Characters of the longest text of each column. */
  lengths: readonly number[];
}

/** What is known of the rows that were looked at. */
export type KnownLengths<Row extends object> = WeakMap<Row, readonly number[]>;

/** More rows are not looked at: of a longer table, every second, third and so on. */
const maxScanned = 500;

/** For each column the row with the longest text. @param known of these columns; it is filled */
export function widestRows<Row extends object>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  known: KnownLengths<Row>,
): WidestRows<Row> {
  const step = Math.max(1, Math.ceil(rows.length / maxScanned));
  const lengths = columns.map(() => 0);
  const widest = new Array<Row | undefined>(columns.length);
  for (let at = 0; at < rows.length; at += step) {
    const row = rows[at] as Row;
    const own = known.get(row) ?? columns.map((column) => lengthIn(column, row));
    known.set(row, own);
    for (const [place, length] of own.entries()) {
      if (length <= (lengths[place] ?? 0)) continue;
      lengths[place] = length;
      widest[place] = row;
    }
  }
  return { rows: [...new Set(widest.filter((row) => row !== undefined))], lengths };
}

/** Characters of a cell. A component does not tell its text: then that by which the column sorts stands for it. */
function lengthIn<Row>({ show, by }: Column<Row>, row: Row): number {
  return charactersOf(show(row)) || (by === undefined ? 0 : `${by(row)}`.length);
}

function charactersOf(shown: ComponentChildren): number {
  if (typeof shown === "string" || typeof shown === "number") return `${shown}`.length;
  if (Array.isArray(shown)) return shown.reduce<number>((sum, one) => sum + charactersOf(one), 0);
  return isValidElement(shown) ? charactersOf((shown.props as { children?: ComponentChildren }).children) : 0;
}
