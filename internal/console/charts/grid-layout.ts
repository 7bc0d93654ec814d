import type { Outcome } from "../kit/outcome.ts";

/** How a cell looks. Each has a shape of its own: no meaning is in a color alone. */
const shapes = {
  /** A full square. */
  failed: (x: number, y: number, size: number) => `M${x} ${y}h${size}v${size}h${-size}z`,
  /** A diamond. */
  changed: (x: number, y: number, size: number) =>
    `M${x + size / 2} ${y}l${size / 2} ${size / 2}l${-size / 2} ${size / 2}l${-size / 2} ${-size / 2}z`,
  /** A frame. */
  offline: (x: number, y: number, size: number) => {
    const edge = size / 5;
    const inner = size - 2 * edge;
    return `M${x} ${y}h${size}v${size}h${-size}zM${x + edge} ${y + edge}v${inner}h${inner}v${-inner}z`;
  },
  /** A triangle. */
  timeout: (x: number, y: number, size: number) => `M${x + size / 2} ${y}l${size / 2} ${size}h${-size}z`,
  /** A lying bar. */
  skipped: (x: number, y: number, size: number) => `M${x} ${y + size / 3}h${size}v${size / 3}h${-size}z`,
  /** A small square. */
  ok: (x: number, y: number, size: number) =>
    `M${x + size / 4} ${y + size / 4}h${size / 2}v${size / 2}h${-size / 2}z`,
} as const satisfies Partial<Record<Outcome, (x: number, y: number, size: number) => string>>;

export type CellOutcome = keyof typeof shapes;

/** Cells side by side, row by row. */
export interface Layout {
  readonly columns: number;
  readonly rows: number;
  /** The side of a cell with the gap behind it. */
  readonly step: number;
}

const few = 400;
const many = 4_000;

/** The more cells there are, the smaller they are. @param width of the picture, in pixels */
export function layOut(count: number, width: number): Layout {
  const step = count <= few ? 18 : count <= many ? 12 : 9;
  const columns = Math.max(1, Math.floor(width / step));
  return { columns, rows: Math.max(1, Math.ceil(count / columns)), step };
}

/** One path for all cells that look the same: ten thousand of them are a handful of elements. */
export function gridPaths(
  cells: readonly { readonly outcome: CellOutcome }[],
  { columns, step }: Layout,
): Map<CellOutcome, string> {
  const size = step - 2;
  const parts = new Map<CellOutcome, string[]>();
  for (const [index, { outcome }] of cells.entries()) {
    const part = parts.get(outcome) ?? [];
    part.push(shapes[outcome]((index % columns) * step, Math.floor(index / columns) * step, size));
    parts.set(outcome, part);
  }
  return new Map([...parts].map(([outcome, part]) => [outcome, part.join("")]));
}

/** The cell at a point of the picture; `undefined` where there is none. */
export function cellAt(count: number, { columns, step }: Layout, x: number, y: number): number | undefined {
  const [column, row] = [Math.floor(x / step), Math.floor(y / step)];
  const index = row * columns + column;
  return column >= 0 && column < columns && row >= 0 && index < count ? index : undefined;
}

/** Where a key leads to from a cell; `undefined` for any other key. */
export function afterKey(key: string, index: number, count: number, { columns }: Layout): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ...{ ArrowRight: index + 1, ArrowLeft: index - 1, ArrowDown: index + columns, ArrowUp: index - columns },
    ...{ Home: 0, End: count - 1 },
  };
  const next = steps[key];
  if (next === undefined) return undefined;
  return next < 0 || next >= count ? index : next;
}
