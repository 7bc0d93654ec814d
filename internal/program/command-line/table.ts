import type { Clock } from "../../base/clock.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import { formatAgo, formatUntil } from "./age.ts";
import { cutTo, padTo, widthOf, wrapTo } from "./cells.ts";
import { shortIds } from "./short-ids.ts";
import { paint } from "./tone.ts";

/**
 * What the cells of a column are, which decides how they are shown where there is little room. A column that can be
 * spared is left out before a name is cut, the last one first.
 */
export type ColumnKind = Kind | `spare ${Kind}`;

type Kind =
  /** Shown as it is. */
  | "word"
  /** A text that may be long: cut at its end. */
  | "text"
  /** What a row is found by, such as a peel or a function: cut only where everything else is already. */
  | "name"
  /** Sentences: broken over several lines. */
  | "prose"
  /** Ids such as `enr-…`: shortened to what tells them apart. */
  | "id"
  /** A time in RFC 3339, shown as `3m`: how long ago it is. */
  | "ago"
  /** A time in RFC 3339 at which something ends, shown as `in 29d` or `3m ago`. */
  | "until"
  /** The word of a state or an outcome, in color on a terminal. */
  | "state"
  /** Several of them, such as `10 ok, 1 failed`: broken over several lines. */
  | "states"
  /** Shown with `--wide` only. */
  | "wide";

/** The heads of the columns with their kinds, or heads alone for columns of kind `word`. */
export type Columns = readonly string[] | Readonly<Record<string, ColumnKind>>;

/** How a table is shown; that of a command is its `Cli`. */
export interface TableStyle {
  color: boolean;
  /** `--wide`: every column, and everything in full. */
  wide?: boolean;
  /** Cells of the terminal; absent where nothing limits a line. */
  width?: number;
  /** What ages are counted from; without it times are shown in full. */
  clock?: Pick<Clock, "now">;
  /** Learns the heads of columns that `--wide` would show. */
  noteHidden?(heads: readonly string[]): void;
}

const gap = "  ";
/** Cells that a column keeps, however narrow the terminal is. */
const minOf: Partial<Record<Kind, number>> = { text: 6, name: 30, prose: 12, states: 12 };
/** The same where that is too much. */
const minOfAll: typeof minOf = { ...minOf, name: 6 };
/** Lines of a broken cell: a host may have chosen what is in it. */
const maxLines = 12;

/**
 * Formats rows below a header in capitals, with columns aligned and two spaces between them. What a terminal has no
 * room for is cut, broken or left out as the columns say; `--wide` shows all of it on one line for each row.
 *
 * @param rows cells in the order of the columns
 */
export function formatTable(
  columns: Columns,
  rows: readonly (readonly string[])[],
  style: TableStyle,
): string {
  const { color, wide = false, width } = style;
  const all = columnsOf(columns).map((column, at) => ({ ...column, at }));
  const chosen = all
    .filter(({ as }) => as !== "wide" || wide)
    .map((column) => {
      const cells = rows.map((row) => escapeInvisible(row[column.at] ?? ""));
      const contents = contentsOf(column, cells, style);
      return { ...column, contents, natural: Math.max(...[column.head, ...contents].map(widthOf)) };
    });
  const max = wide || width === undefined ? Number.POSITIVE_INFINITY : width;
  const shown = withoutSpare(chosen, max);
  const left = new Set(shown.map(({ at }) => at));
  const hidden = all.filter(({ at }) => !left.has(at)).map((column) => column.head);
  if (rows.length > 0 && hidden.length > 0) style.noteHidden?.(hidden);
  const widths = fit(shown, max);
  const line = (cells: readonly string[], isHead = false) =>
    cells
      .map((cell, i) => {
        const padded = i === cells.length - 1 ? cell : padTo(cell, widths[i] ?? 0);
        return color && !isHead && isColored(shown[i]?.as) ? paint(padded) : padded;
      })
      .join(gap)
      .trimEnd();
  // A heading such as ALIVE is a word of the palette as well, whose color would end the bold of the others.
  const head = line(
    shown.map(({ head }, i) => cutTo(head, widths[i] ?? 0)),
    true,
  );
  const bold = color ? `\u001b[1m${head}\u001b[0m` : head;
  const lines = rows.flatMap((_, row) => {
    const cells = shown.map((column, i) => linesOf(column, column.contents[row] ?? "", widths[i] ?? 0));
    const height = Math.max(...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, at) => line(cells.map((lines) => lines[at] ?? "")));
  });
  return [bold, ...lines].join("\n");
}

function columnsOf(columns: Columns): { head: string; as: Kind; isSpare: boolean }[] {
  if (isList(columns)) return columns.map((head) => ({ head, as: "word", isSpare: false }));
  return Object.entries(columns).map(([head, kind]) => {
    const isSpare = kind.startsWith("spare ");
    return { head, as: (isSpare ? kind.slice("spare ".length) : kind) as Kind, isSpare };
  });
}

// Array.isArray does not tell a list that cannot be changed from a map.
const isList = (columns: Columns): columns is readonly string[] => Array.isArray(columns);
const isColored = (as: Kind | undefined) => as === "state" || as === "states";

/** The cells of one column, as they are shown where there is room. */
function contentsOf(
  { as }: { as: Kind },
  cells: readonly string[],
  { wide, clock }: TableStyle,
): readonly string[] {
  if (wide === true) return cells;
  if (as === "id") {
    const short = shortIds(cells);
    return cells.map((cell) => short.get(cell) ?? cell);
  }
  if (clock === undefined || (as !== "ago" && as !== "until")) return cells;
  const now = clock.now();
  return cells.map((cell) => (as === "ago" ? formatAgo(cell, now) : formatUntil(cell, now)));
}

/** The lines of one cell. */
function linesOf({ as }: { as: Kind }, cell: string, width: number): string[] {
  if (as === "text" || as === "name") return [cutTo(cell, width)];
  return as === "prose" || as === "states" ? wrapTo(cell, width, maxLines) : [cell];
}

interface Sized {
  as: Kind;
  isSpare: boolean;
  /** Cells that it takes where there is room. */
  natural: number;
}

/** Leaves out columns that can be spared, until the others keep what they need, or none is left. */
function withoutSpare<Column extends Sized>(columns: readonly Column[], width: number): readonly Column[] {
  if (total(columns.map((column) => minWidth(column, minOf))) <= width) return columns;
  const at = columns.findLastIndex(({ isSpare }) => isSpare);
  return at < 0 ? columns : withoutSpare(columns.toSpliced(at, 1), width);
}

/** Takes room from the widest columns of texts until a line fits, then from those of names. */
function fit(columns: readonly Sized[], width: number): number[] {
  const widths = narrowed(columns, width, minOf);
  if (total(widths) <= width) return widths;
  const narrowest = columns.map((column) =>
    column.as === "name" ? column : { ...column, natural: minWidth(column, minOf) },
  );
  return narrowed(narrowest, width, minOfAll);
}

function narrowed(columns: readonly Sized[], width: number, mins: typeof minOf): number[] {
  const below = (max: number) =>
    columns.map((column) => Math.max(Math.min(column.natural, max), minWidth(column, mins)));
  let low = 0;
  let high = Math.max(0, ...columns.map(({ natural }) => natural));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (total(below(middle)) <= width) low = middle;
    else high = middle - 1;
  }
  return below(low);
}

const minWidth = ({ as, natural }: Sized, mins: typeof minOf): number =>
  Math.min(natural, mins[as] ?? Number.POSITIVE_INFINITY);

/** The cells of a line, with the gaps between its columns. */
const total = (widths: readonly number[]): number =>
  widths.reduce((sum, one) => sum + one, gap.length * (widths.length - 1));
