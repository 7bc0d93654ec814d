import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { hrefOf } from "../router.ts";
import { type Column, classOf } from "./column.ts";

export interface TableRowProps<Row> {
  row: Row;
  /** Its place in the table, from 0. */
  index: number;
  columns: readonly Column<Row>[];
  /** The path where it leads: its first column that is not bare becomes that link. */
  path: string | undefined;
  /** Follows such a link when the row is clicked elsewhere. */
  go: ((path: string) => void) | undefined;
  isSelected: boolean | undefined;
}

function TableRow<Row>({ row, index, columns, path, go, isSelected }: TableRowProps<Row>) {
  const linked = columns.findIndex(({ bare }) => bare !== true);
  return (
    <tr
      // The first row is the header.
      aria-rowindex={index + 2}
      {...(isSelected === undefined ? {} : { "aria-selected": isSelected })}
      {...(path === undefined || go === undefined
        ? {}
        : {
            class: "opens",
            onClick: (event: MouseEvent) => {
              if (!isControl(event.target)) go(path);
            },
          })}
    >
      {columns.map((column, place) => (
        <td key={column.id} class={classOf(column)}>
          {place === linked && path !== undefined ? (
            <a href={hrefOf(path)}>{column.show(row)}</a>
          ) : (
            column.show(row)
          )}
        </td>
      ))}
    </tr>
  );
}

const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("a, button, input, label, select") !== null;

/**
 * The elements of the rows in sight. One whose row, place and columns are the same as before is handed on as it is,
 * and is not drawn again: most steps of scrolling and most changes of a list touch few rows.
 *
 * @returns to be called once each time the table is drawn, with a key for each row
 */
export function useTableRows<Row>(): (
  rows: readonly (readonly [key: string | number, props: TableRowProps<Row>])[],
) => VNode<TableRowProps<Row>>[] {
  const kept = useRef(new Map<string | number, VNode<TableRowProps<Row>>>());
  return (rows) => {
    const next = new Map<string | number, VNode<TableRowProps<Row>>>();
    for (const [key, props] of rows) {
      const before = kept.current.get(key);
      next.set(
        key,
        before !== undefined && isSame(before.props, props) ? before : <TableRow key={key} {...props} />,
      );
    }
    kept.current = next;
    return [...next.values()];
  };
}

const isSame = <Row,>(one: TableRowProps<Row>, other: TableRowProps<Row>): boolean =>
  one.row === other.row &&
  one.index === other.index &&
  one.columns === other.columns &&
  one.path === other.path &&
  one.go === other.go &&
  one.isSelected === other.isSelected;
