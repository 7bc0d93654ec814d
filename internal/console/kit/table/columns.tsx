import type { ReadonlySignal } from "@preact/signals";
import { Status } from "../status.tsx";
import { Time } from "../time.tsx";
import type { Column } from "./column.ts";

/** What a column is besides its content. */
interface Manner {
  wide?: true;
  align?: "end";
  /** It cannot be sorted: its order says nothing. */
  unsorted?: true;
}

type Content<Row, Value> = [id: string, title: string, value: (row: Row) => Value, manner?: Manner];

/** A column of values, by which it sorts. @param show how one is shown */
function columnOf<Row, Value extends string | number | undefined>(
  show: (value: Value) => ReturnType<Column<Row>["show"]>,
  ...[id, title, value, { unsorted, ...manner } = {}]: Content<Row, Value>
): Column<Row> {
  const by = (row: Row) => value(row) ?? "";
  return { id, title, show: (row) => show(value(row)), ...(unsorted ? {} : { by }), ...manner };
}

/** A column of plain text. */
export const textColumn = <Row,>(...content: Content<Row, string | undefined>): Column<Row> =>
  columnOf((text) => text ?? "", ...content);

/** A column of names of code. */
export const monoColumn = <Row,>(...content: Content<Row, string | undefined>): Column<Row> =>
  columnOf((text) => <span class="mono">{text}</span>, ...content);

/** A column of text that may be too long for it. */
export const longColumn = <Row,>(...content: Content<Row, string>): Column<Row> =>
  columnOf((text) => <span title={text}>{text}</span>, ...content);

/** A column of numbers. */
export const numberColumn = <Row,>(...[id, title, value, manner]: Content<Row, number>): Column<Row> =>
  columnOf((count) => count.toLocaleString("en"), id, title, value, { align: "end", ...manner });

/** A column of outcomes. */
export const statusColumn = <Row,>(...content: Content<Row, string>): Column<Row> =>
  columnOf((word) => <Status word={word} />, ...content);

/** A column of times, of which some may not be known. */
export const timeColumn = <Row,>(
  now: ReadonlySignal<number>,
  ...content: Content<Row, string | undefined>
): Column<Row> => columnOf((at) => (at === undefined ? "" : <Time at={at} now={now} />), ...content);

/** A column of calls: the function, and the beginning of its arguments. */
export const callColumn = <Row extends { function: string; args_text?: string | undefined }>(
  manner: Manner = {},
): Column<Row> => ({
  ...monoColumn<Row>("function", "Function", (row) => row.function, manner),
  show: ({ function: name, args_text: args }) => (
    <span class="mono" title={args === undefined ? undefined : `${name} ${args}`}>
      {name}
      {args !== undefined && <span class="muted"> {args}</span>}
    </span>
  ),
});
