import type { ColumnKind, Columns } from "../program/command-line/mod.ts";
import { contentCell } from "../wire/content-words.ts";

interface Row {
  content?: Parameters<typeof contentCell>[0];
}

const haveFiles = (rows: readonly Row[]): boolean => rows.some(({ content }) => content !== undefined);

/** The columns, without `FILES` where nothing in a table runs state files. */
export function withFiles(columns: Readonly<Record<string, ColumnKind>>, rows: readonly Row[]): Columns {
  if (haveFiles(rows)) return columns;
  return Object.fromEntries(Object.entries(columns).filter(([head]) => head !== "FILES"));
}

/** The cell of `FILES` in the row of one of them, if the table has that column. */
export function filesCells({ content }: Row, rows: readonly Row[]): string[] {
  return haveFiles(rows) ? [contentCell(content)] : [];
}
