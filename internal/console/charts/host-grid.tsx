import { useMemo, useRef, useState } from "preact/hooks";
import { hrefOf } from "../kit/router.ts";
import { afterKey, type CellOutcome, cellAt, gridPaths, type Layout, layOut } from "./grid-layout.ts";
import { useWidth } from "./use-width.ts";

/** A host of the grid. */
export interface Cell {
  readonly id: string;
  /** `silent` */
  readonly word: string;
  readonly outcome: CellOutcome;
  readonly to: string;
}

/**
 * All hosts as small signs, each a link to its page: by pointer, and with the arrow keys. It is one link whose address
 * is that of the host that was chosen last, because ten thousand elements would be slow, and as many stops of the Tab
 * key.
 */
export function HostGrid({ label, cells }: { label: string; cells: readonly Cell[] }) {
  const box = useRef<HTMLAnchorElement>(null);
  const width = useWidth(box);
  const [chosenId, choose] = useState<string | undefined>(undefined);
  const layout = useMemo(() => layOut(cells.length, width), [cells.length, width]);
  const paths = useMemo(() => gridPaths(cells, layout), [cells, layout]);
  const found = cells.findIndex(({ id }) => id === chosenId);
  const index = Math.max(0, found);
  const chosen = cells[index];
  if (chosen === undefined) return null;
  const point = ({ clientX, clientY }: MouseEvent) => {
    const area = box.current?.getBoundingClientRect();
    const at = area && cellAt(cells.length, layout, clientX - area.left, clientY - area.top);
    if (at !== undefined) choose(cells[at]?.id);
  };
  const onKey = (event: KeyboardEvent) => {
    const next = afterKey(event.key, index, cells.length, layout);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    choose(cells[next]?.id);
  };
  return (
    <div class="host-grid">
      <a
        ref={box}
        href={hrefOf(chosen.to)}
        aria-label={`${label}: ${chosen.id}, ${chosen.word}. The arrow keys lead to the others`}
        onMouseMove={point}
        onMouseDown={point}
        onKeyDown={onKey}
      >
        {width > 0 && (
          <svg width={layout.columns * layout.step} height={layout.rows * layout.step} aria-hidden="true">
            {[...paths].map(([outcome, path]) => (
              <path key={outcome} data-outcome={outcome} fill-rule="evenodd" d={path} />
            ))}
            <Chosen {...{ layout, index }} isShown={found >= 0} />
          </svg>
        )}
      </a>
      <p class="small" role="status">
        {found < 0 ? (
          <span class="muted">Point at a host, or use the arrow keys.</span>
        ) : (
          <>
            <a href={hrefOf(chosen.to)}>{chosen.id}</a> <span class="muted">{chosen.word}</span>
          </>
        )}
      </p>
    </div>
  );
}

function Chosen({ layout, index, isShown }: { layout: Layout; index: number; isShown: boolean }) {
  if (!isShown) return null;
  const { columns, step } = layout;
  const [x, y] = [(index % columns) * step, Math.floor(index / columns) * step];
  return <rect class="chosen" x={x - 1} y={y - 1} width={step} height={step} />;
}
