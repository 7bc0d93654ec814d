import type { ComponentChildren } from "preact";
import type { Outcome } from "../kit/outcome.ts";
import { clockTime, local } from "../kit/times.ts";
import { binsOf, curvePath, roundUp, type Series, type Span } from "./series.ts";

/** One of the curves of a picture, or one layer of its bars. */
export interface Line extends Series {
  readonly name: string;
  readonly outcome: Outcome;
}

interface ChartProps {
  title: string;
  /** What the picture says, in a sentence. */
  said: ComponentChildren;
  span: Span;
  /** The first one is drawn through, the second one dashed: no meaning is in a color alone. */
  lines: readonly Line[];
  /** How a number reads. */
  format?(value: number): string;
}

const [width, height] = [600, 96];
/** Of the table below a picture: each hour of a day, and each day of a month. */
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const plain = (value: number) => value.toLocaleString("en");

/**
 * Levels over time, as curves.
 *
 * @param props.gapMs more time than this between two values is a break
 * @param props.base 1024 where numbers are read by such powers
 */
export function Curves(props: ChartProps & { gapMs: number; base?: number }) {
  const { span, lines, gapMs, base, format = plain } = props;
  const max = roundUp(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))), base);
  return (
    <Chart {...props} max={format(max)} shows="last">
      {lines.map((line, index) => (
        <path
          key={line.name}
          class="curve"
          data-outcome={line.outcome}
          data-place={index}
          d={curvePath(line, span, { max, gapMs, width, height })}
        />
      ))}
    </Chart>
  );
}

const barCount = 48;

/** What happened over time, as bars: the first layer is at the bottom. */
export function Bars(props: ChartProps) {
  const { span, lines, format = plain } = props;
  const layers = lines.map((line) => ({ ...line, bins: binsOf(line, span, barCount) }));
  const sums = Array.from({ length: barCount }, (_, at) =>
    layers.reduce((sum, { bins }) => sum + (bins[at]?.sum ?? 0), 0),
  );
  const max = roundUp(Math.max(...sums));
  const below = new Array<number>(barCount).fill(0);
  const step = width / barCount;
  return (
    <Chart {...props} max={format(max)} shows="sum">
      {layers.map(({ name, outcome, bins }, index) => {
        let path = "";
        for (const [at, { sum }] of bins.entries()) {
          if (sum === 0) continue;
          const [base, high] = [(below[at] ?? 0) / max, sum / max];
          below[at] = (below[at] ?? 0) + sum;
          const y = Math.round((1 - base) * height * 10) / 10;
          path += `M${at * step + 1} ${y}v${-Math.max(1, Math.round(high * height * 10) / 10)}h${step - 2}V${y}z`;
        }
        return <path key={name} class="bar" data-outcome={outcome} data-place={index} d={path} />;
      })}
    </Chart>
  );
}

function Chart(props: ChartProps & { max: string; shows: "sum" | "last"; children: ComponentChildren }) {
  const { title, said, span, lines, max, children } = props;
  const id = `chart-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return (
    <section class="chart" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      <p class="small">{said}</p>
      <div class="plot">
        <span class="muted small number" aria-hidden="true">
          {max}
        </span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="axis" d={`M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}`} />
          {children}
        </svg>
        <span class="muted small number" aria-hidden="true">
          {shortTime(span.from, span)} <span>now</span>
        </span>
      </div>
      <ul class="legend">
        {lines.map(({ name, outcome }, index) => (
          <li key={name}>
            <Sample kind={props.shows === "sum" ? "bar" : "curve"} {...{ outcome, index }} /> {name}
          </li>
        ))}
      </ul>
      <Numbers {...props} />
    </section>
  );
}

function Sample({ kind, outcome, index }: { kind: "bar" | "curve"; outcome: Outcome; index: number }) {
  return (
    <svg class="sample" viewBox="0 0 24 10" aria-hidden="true">
      <path
        class={kind}
        data-outcome={outcome}
        data-place={index}
        d={kind === "bar" ? "M1 1h22v8H1z" : "M1 5H23"}
      />
    </svg>
  );
}

/** The same in numbers. */
function Numbers({ title, span, lines, shows, format = plain }: ChartProps & { shows: "sum" | "last" }) {
  const length = span.until - span.from > 2 * dayMs ? dayMs : hourMs;
  const columns = lines.map((line) => binsOf(line, span, Math.round((span.until - span.from) / length)));
  const show = (value: number | null | undefined) =>
    value === null || value === undefined ? "–" : format(value);
  return (
    <details class="numbers">
      <summary>
        Numbers<span class="visually-hidden">: {title}</span>
      </summary>
      <section class="scrolled" tabIndex={0} aria-label={`Numbers: ${title}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Until</th>
              {lines.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {columns[0]
              ?.map(({ until }, row) => (
                <tr key={until}>
                  <th scope="row">{shortTime(until, span)}</th>
                  {columns.map((column, at) => (
                    <td key={lines[at]?.name} class="number">
                      {show(column[row]?.[shows])}
                    </td>
                  ))}
                </tr>
              ))
              .toReversed()}
          </tbody>
        </table>
      </section>
    </details>
  );
}

/** The time of day, and in a longer span the day. */
const shortTime = (at: number, { from, until }: Span): string =>
  until - from > 2 * dayMs ? local(at).slice(0, "2026-01-01".length) : clockTime(at).slice(0, "00:00".length);
