import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { rowHeight } from "./row-height.ts";
import { slotOf, type VisibleRows, visibleRows } from "./visible-rows.ts";

/** Nobody reads more rows than these on paper, and the browser would stand still. */
const maxPrinted = 5_000;
/** Rows come into the table and leave it in groups: most frames of scrolling then draw nothing. */
const group = 4 * rowHeight;

/** The part of a table that is in sight. */
export interface Sight extends VisibleRows {
  /** Of the box of the table, px; 0 while it is not known, and for a short table. */
  width: ReadonlySignal<number>;
  onScroll(): void;
  /** Which element shows a row; `undefined` where each row has its own. */
  slot(index: number): number | undefined;
}

/**
 * Follows which rows of a table are in sight while it is scrolled and resized.
 * On paper, and in a short table, all of them are.
 */
export function useSight(options: {
  box: RefObject<HTMLElement | null>;
  count: number;
  short: boolean;
  printing: boolean;
}): Sight {
  const { box, count, short, printing } = options;
  const sight = useSignal({ top: 0, height: 800 });
  const width = useSignal(0);
  const shown = useRef({ from: 0, to: 0, first: 0 });
  const onScroll = () => {
    const element = box.current;
    if (element === null) return;
    const top = Math.floor(element.scrollTop / group) * group;
    const { top: before, height } = sight.peek();
    if (top === before) return;
    keepFocus(element, visibleRows(count, top, height + group, rowHeight));
    sight.value = { top, height };
  };
  useLayoutEffect(() => {
    if (short || box.current === null) return;
    // The size comes with the observer, at once and at each change: reading it while scrolling would make the
    // browser lay out the page in the middle of a frame.
    const observer = new ResizeObserver(([entry]) => {
      const size = entry?.contentRect;
      if (size === undefined || size.height === 0) return;
      width.value = size.width;
      if (size.height !== sight.peek().height) sight.value = { ...sight.peek(), height: size.height };
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [short, count === 0]);

  const isWhole = short || printing;
  const { from, to } = isWhole
    ? { from: 0, to: printing ? Math.min(count, maxPrinted) : count }
    : visibleRows(count, sight.value.top, sight.value.height + group, rowHeight);
  // After a jump the elements stay in their order; after a step those of the rows that left go to the other end.
  if (from >= shown.current.to || to <= shown.current.from) shown.current.first = from;
  const { first } = shown.current;
  shown.current = { from, to, first };
  const slot = (index: number) =>
    isWhole ? undefined : slotOf(index - first, sight.value.height + group, rowHeight);
  return { from, to, width, onScroll, slot };
}

/** The element of a row that has the focus is about to show another row, and Enter must not open that one. */
function keepFocus(box: HTMLElement, { from, to }: VisibleRows): void {
  const row = box.contains(document.activeElement) ? document.activeElement?.closest("tr") : undefined;
  const index = Number(row?.getAttribute("aria-rowindex") ?? 1) - 2;
  if (index >= 0 && (index < from || index >= to)) box.focus({ preventScroll: true });
}
