import type { ComponentChildren } from "preact";
import { Glyph } from "../../kit/glyph.tsx";
import type { Outcome } from "../../kit/outcome.ts";
import { hrefOf } from "../../kit/router.ts";

/** A number that leads to what it counts. */
export function Figure(props: {
  label: string;
  value: number | undefined;
  to?: string;
  /** Only where there is something: a zero is calm. */
  outcome?: Outcome;
  more?: boolean;
  children?: ComponentChildren;
}) {
  const { label, value, to, outcome, more, children } = props;
  const loud = outcome !== undefined && value !== undefined && value > 0;
  const inside = (
    <>
      <span class="label">
        {loud && (
          <span class="status" data-outcome={outcome}>
            <Glyph outcome={outcome} />
          </span>
        )}
        {label}
      </span>
      <span class="value">
        {value === undefined ? "–" : value.toLocaleString("en")}
        {more === true && "+"}
      </span>
      {children !== undefined && <span class="muted small">{children}</span>}
    </>
  );
  return to === undefined ? (
    <div class="figure">{inside}</div>
  ) : (
    <a class="figure" href={hrefOf(to)}>
      {inside}
    </a>
  );
}
