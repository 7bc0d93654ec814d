/** Which rows of a long table exist as elements. */
export interface VisibleRows {
  /** Index of the first row, from 0. */
  from: number;
  /** Index behind the last row. */
  to: number;
}

/** Rows above and below what is seen: a reader who scrolls meets rows, and not the space where they will be. */
const margin = 6;

/**
 * @param count of all rows
 * @param top how far the table is scrolled, px
 * @param height of its visible part, px
 * @param row height of one row, px
 */
export function visibleRows(count: number, top: number, height: number, row: number): VisibleRows {
  const first = Math.floor(top / row) - margin;
  const last = Math.ceil((top + height) / row) + margin;
  const from = Math.max(0, Math.min(first, count - 1));
  return { from, to: Math.max(from, Math.min(count, last)) };
}

/**
 * Which element shows a row. A row that comes into sight takes over the element of one that went out of sight: to
 * write other text into elements costs much less than to create them. No two rows that are visible together have the
 * same one.
 *
 * @param index of the row, counted from any one; can be negative
 * @param height of the visible part, px
 * @param row height of one row, px
 */
export function slotOf(index: number, height: number, row: number): number {
  // One row can be cut at the top and one at the bottom.
  const slots = Math.ceil(height / row) + 1 + 2 * margin;
  return ((index % slots) + slots) % slots;
}
