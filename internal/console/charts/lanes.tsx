import { useRef } from "preact/hooks";
import type { Outcome } from "../kit/outcome.ts";
import { local } from "../kit/times.ts";
import type { Span } from "./series.ts";
import { useWidth } from "./use-width.ts";

/** Something that happened at a time. */
export interface Mark {
  readonly at: number;
  readonly outcome: Outcome;
}

export interface Lane {
  readonly name: string;
  readonly marks: readonly Mark[];
}

const [laneHeight, labelWidth, size] = [28, 88, 8];
const ticks = 4;

/** What happened when, a lane for each kind, all on one axis. The list next to it says the same in words. */
export function Lanes({ label, span, lanes }: { label: string; span: Span; lanes: readonly Lane[] }) {
  const box = useRef<HTMLElement>(null);
  const width = useWidth(box);
  const length = Math.max(1, width - labelWidth - size);
  const height = lanes.length * laneHeight;
  const placeOf = (at: number) => labelWidth + ((at - span.from) / (span.until - span.from)) * length;
  const isLong = span.until - span.from > 2 * 24 * 3600_000;
  const times = Array.from(
    { length: ticks },
    (_, at) => span.from + ((span.until - span.from) * at) / (ticks - 1),
  );
  return (
    <section ref={box} class="lanes" aria-label={label}>
      {width > 0 && (
        <svg width={width} height={height + 20} aria-hidden="true">
          {lanes.map(({ name, marks }, index) => {
            const y = index * laneHeight + laneHeight / 2;
            return (
              <g key={name}>
                <text x={0} y={y + 4}>
                  {name}
                </text>
                <path class="axis" d={`M${labelWidth} ${y}H${width}`} />
                {marks.map(({ at, outcome }) => (
                  <path
                    key={`${at} ${outcome}`}
                    class="lane-mark"
                    data-outcome={outcome}
                    d={markPath(outcome, placeOf(at), y)}
                  />
                ))}
              </g>
            );
          })}
          {times.map((at, index) => (
            <text key={at} x={placeOf(at)} y={height + 14} text-anchor={anchorOf(index)}>
              {index === ticks - 1 ? "now" : isLong ? local(at).slice(5, 10) : local(at).slice(11, 16)}
            </text>
          ))}
        </svg>
      )}
    </section>
  );
}

const anchorOf = (index: number) => (index === 0 ? "start" : index === ticks - 1 ? "end" : "middle");

/** A cross for what failed, a ring for what is not over, a square for what changed, and a dot. */
function markPath(outcome: Outcome, x: number, y: number): string {
  const r = size / 2;
  if (outcome === "failed") return `M${x - r} ${y - r}l${size} ${size}M${x + r} ${y - r}l${-size} ${size}`;
  if (outcome === "changed") return `M${x - r} ${y - r}h${size}v${size}h${-size}z`;
  const circle = (radius: number) =>
    `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
  return outcome === "ok" ? circle(r / 2) : circle(r);
}
