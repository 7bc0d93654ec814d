import type { ComponentChildren } from "preact";

/** One column of a table. */
export interface Column<Row> {
  id: string;
  title: string;
  show(row: Row): ComponentChildren;
  /** By what the column sorts; absent where its order says nothing. */
  by?(row: Row): string | number;
  /** Numbers stand at the end of their column. */
  align?: "end";
  /** Left out on narrow screens. */
  wide?: true;
  /** It holds a control: the link of the row is in the column after it. */
  bare?: true;
}

/** The class of the cells of a column. */
export const classOf = ({ align, wide, bare }: Pick<Column<never>, "align" | "wide" | "bare">): string =>
  [align, wide && "wide", bare && "bare"].filter(Boolean).join(" ");
