import type { ReadonlySignal } from "@preact/signals";
import type { Column } from "./column.ts";
import { Status } from "./status.tsx";
import { Time } from "./time.tsx";

/** What a column is besides its content. */
interface Manner {
  wide?: true;
  align?: "end";
  /** It cannot be sorted: its order says nothing. */
  unsorted?: true;
}

/** @param value by which the column sorts */
function columnOf<Row>(
  id: string,
  title: string,
  show: Column<Row>["show"],
  value: (row: Row) => string | number,
  { unsorted, ...manner }: Manner,
): Column<Row> {
  return { id, title, show, ...(unsorted ? {} : { by: value }), ...manner };
}

/** A column of plain text. */
export const textColumn = <Row,>(
  id: string,
  title: string,
  text: (row: Row) => string | undefined,
  manner: Manner = {},
): Column<Row> =>
  columnOf(
    id,
    title,
    (row) => text(row) ?? "",
    (row) => text(row) ?? "",
    manner,
  );

/** A column of names of code. */
export const monoColumn = <Row,>(
  id: string,
  title: string,
  text: (row: Row) => string | undefined,
  manner: Manner = {},
): Column<Row> =>
  columnOf(
    id,
    title,
    (row) => <span class="mono">{text(row)}</span>,
    (row) => text(row) ?? "",
    manner,
  );

/** A column of numbers. */
export const numberColumn = <Row,>(
  id: string,
  title: string,
  value: (row: Row) => number,
  manner: Manner = {},
): Column<Row> =>
  columnOf(id, title, (row) => value(row).toLocaleString("en"), value, { align: "end", ...manner });

/** A column of outcomes. */
export const statusColumn = <Row,>(
  id: string,
  title: string,
  word: (row: Row) => string,
  manner: Manner = {},
): Column<Row> => columnOf(id, title, (row) => <Status word={word(row)} />, word, manner);

/** A column of times, of which some may not be known. */
export const timeColumn = <Row,>(
  id: string,
  title: string,
  now: ReadonlySignal<number>,
  at: (row: Row) => string | undefined,
  manner: Manner = {},
): Column<Row> => {
  const show = (row: Row) => {
    const time = at(row);
    return time === undefined ? "" : <Time at={time} now={now} />;
  };
  return columnOf(id, title, show, (row) => at(row) ?? "", manner);
};
