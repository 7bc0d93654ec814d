import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Keys } from "../keys.ts";
import { rowHeight } from "./row-height.ts";

/**
 * `j` and `k` move between the rows of a table, and Enter opens one.
 *
 * @param options.keys absent for a table that is not the main one of its page
 * @param options.rows in their order
 */
export function useRowKeys(options: {
  keys: Keys | undefined;
  box: RefObject<HTMLElement | null>;
  rows: readonly unknown[];
  short: boolean;
}): void {
  const { keys, box, rows, short } = options;
  const wanted = useRef<number | undefined>(undefined);
  const focusRow = (index: number) => {
    const link = box.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${index + 2}"] a`);
    wanted.current = link ? undefined : index;
    link?.focus({ preventScroll: !short });
  };
  // A row that was not an element is one after the table was drawn.
  useEffect(() => {
    if (wanted.current !== undefined) focusRow(wanted.current);
  });
  // In the same moment in which the rows are shown, their keys work.
  useLayoutEffect(() => {
    if (keys === undefined) return;
    const step = (by: number) => () => {
      const at = Number(document.activeElement?.closest("tr")?.getAttribute("aria-rowindex") ?? 1) - 2;
      const next = Math.min(Math.max(at + by, 0), rows.length - 1);
      if (next < 0) return;
      if (!short && box.current !== null) reveal(box.current, next);
      focusRow(next);
    };
    return keys.bind({
      j: { title: "Next row", run: step(1) },
      k: { title: "Previous row", run: step(-1) },
      Enter: { title: "Open the row" },
    });
  }, [keys, rows]);
}

/** Scrolls until the row is in sight, below the header. */
function reveal(box: HTMLElement, index: number): void {
  const [top, bottom] = [index * rowHeight, (index + 2) * rowHeight];
  if (top < box.scrollTop) box.scrollTop = top;
  else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
}
