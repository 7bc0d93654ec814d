import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type DrawnWave, drawWaves, type Gate, type ShownRollout } from "./waves.ts";

const height = 96;
const foot = 40;
/** For words; the title and the table below have them for narrow ones. */
const wideEnough = 64;

const gateShapes: Readonly<Record<Gate, string>> = {
  passed: "M-5 0l4 4l6 -8",
  ahead: "M-3 -5l5 5l-5 5",
  held: "M-3 -5v10M3 -5v10",
  closed: "M-4 -4l8 8M4 -4l-8 8",
};
const gateWords: Readonly<Record<Gate, string>> = {
  passed: "passed",
  ahead: "not reached yet",
  held: "held: the rollout is paused",
  closed: "closed: the rollout has ended",
};

/** The waves of a rollout from left to right, filled by how their peels ended, with the gates between them. */
export function WavePicture({ rollout }: { rollout: Pick<ShownRollout, "waves" | "status"> }) {
  const box = useRef<HTMLElement>(null);
  const width = useSignal(640);
  useLayoutEffect(() => {
    if (box.current === null) return;
    const element = box.current;
    const observer = new ResizeObserver(() => {
      width.value = element.clientWidth;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // With room for the line around the first and the last one.
  const drawn = drawWaves(rollout, width.value - 4);
  return (
    // It scrolls when there are many waves, so it can be reached by keys.
    <section class="waves" ref={box} tabIndex={0} aria-label="Waves, picture">
      <svg
        viewBox={`-2 -2 ${drawn.width + 4} ${height + foot + 4}`}
        width={drawn.width + 4}
        height={height + foot + 4}
        role="img"
        aria-label={drawn.waves.map(describe).join(" ")}
      >
        {drawn.waves.map((wave) => (
          <g key={wave.number} transform={`translate(${wave.x} 0)`} data-state={wave.state}>
            <Wave wave={wave} />
            {wave.gate !== undefined && (
              <g class="gate" data-gate={wave.gate} transform={`translate(${wave.width + 14} ${height / 2})`}>
                <title>{`Gate: ${gateWords[wave.gate]}`}</title>
                <path d={gateShapes[wave.gate]} />
              </g>
            )}
          </g>
        ))}
      </svg>
    </section>
  );
}

function Wave({ wave }: { wave: DrawnWave }) {
  return (
    <>
      <title>{describe(wave)}</title>
      <rect class="frame" width={wave.width} height={height} rx="4" />
      {wave.parts.map(({ word, outcome, from, to }) => (
        <rect
          key={word}
          data-outcome={outcome}
          x="1"
          y={(1 - to) * height + 1}
          width={wave.width - 2}
          height={Math.max((to - from) * height - 2, 1)}
        />
      ))}
      <text x={wave.width / 2} y={height + 17} text-anchor="middle">
        {wave.width >= wideEnough ? `Wave ${wave.number}` : wave.number}
      </text>
      {wave.width >= wideEnough && (
        <text class="count" x={wave.width / 2} y={height + 34} text-anchor="middle">
          {`${wave.peels.toLocaleString("en")} ${wave.peels === 1 ? "peel" : "peels"}`}
        </text>
      )}
    </>
  );
}

function describe({ number, peels, parts, state }: DrawnWave): string {
  const how =
    parts.length > 0
      ? parts.map(({ word, count }) => `${count} ${word}`).join(", ")
      : { done: "ended", running: "running", ahead: "has not started", never: "never started" }[state];
  return `Wave ${number}, ${peels} ${peels === 1 ? "peel" : "peels"}: ${how}.`;
}
