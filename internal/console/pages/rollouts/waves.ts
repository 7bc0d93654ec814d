import { defined } from "../../../base/defined.ts";
import { parseDuration } from "../../../base/duration.ts";
import { attempt } from "../../../base/errors.ts";
import type { routes } from "../../api/mod.ts";
import { type Outcome, outcomeOf, outcomes } from "../../kit/outcome.ts";

/** A rollout as masters show it. */
export type ShownRollout = NonNullable<(typeof routes.getRollout)["types"]>["answer"];
export type ShownWave = ShownRollout["waves"][number];

/** What stands between a wave and the next one. */
export type Gate = "passed" | "closed" | "held" | "ahead";

/** A wave as it is drawn. */
export interface DrawnWave {
  /** Counted from 1. */
  number: number;
  peels: number;
  x: number;
  width: number;
  /** Parts of its height, from the bottom: 0 to 1. */
  parts: { outcome: Outcome; word: string; count: number; from: number; to: number }[];
  /** `done`, `running`, `ahead`, and `never` for one that will not start. */
  state: "done" | "running" | "ahead" | "never";
  /** Behind it; absent after the last one. */
  gate?: Gate;
}

const gap = 28;
const minWidth = 18;
/** Wider ones say nothing more. */
const maxWidth = 180;

/**
 * Lays out the waves of a rollout from left to right: each as wide as it has peels, within reason, with a gate
 * between two.
 *
 * @param width of the picture, px; it becomes wider when the waves do not fit
 */
export function drawWaves(
  { waves, status }: Pick<ShownRollout, "waves" | "status">,
  width: number,
): { waves: DrawnWave[]; width: number } {
  const total = waves.reduce((sum, { peels }) => sum + peels.length, 0);
  const room = Math.max(width - gap * (waves.length - 1), minWidth * waves.length);
  const spread = room - minWidth * waves.length;
  let x = 0;
  const drawn = waves.map((wave, index): DrawnWave => {
    const wide = Math.min(maxWidth, minWidth + (total === 0 ? 0 : (spread * wave.peels.length) / total));
    const at = x;
    x += wide + gap;
    const next = waves[index + 1];
    return {
      ...{ number: index + 1, peels: wave.peels.length, x: at, width: wide },
      ...{ parts: partsOf(wave), state: stateOf(wave, status) },
      ...defined({ gate: next && gateOf(wave, next, status) }),
    };
  });
  return { waves: drawn, width: Math.max(x - gap, 0) };
}

/**
 * When the gate behind the current wave is looked at, milliseconds since the Unix epoch; `undefined` while the wave
 * runs, and while the rollout waits for nothing but itself.
 */
export function gateAt({
  status,
  step,
  waves,
  wave_wait: wait,
}: Pick<ShownRollout, "status" | "step" | "waves" | "wave_wait">): number | undefined {
  const ended = waves.findLast(({ begun_at }) => begun_at !== undefined)?.ended_at;
  if (status !== "running" || step !== "soaking" || ended === undefined) return undefined;
  const waitMs = attempt(() => parseDuration(wait));
  return waitMs === undefined ? undefined : Date.parse(ended) + waitMs;
}

/** How many failures there were, and how many end it. */
export function failureWords(failures: number, max: number): string {
  const so = failures === 0 ? "none so far" : `${failures.toLocaleString("en")} so far`;
  if (failures > max)
    return `${failures.toLocaleString("en")}, of which ${max.toLocaleString("en")} were allowed`;
  return max === 0
    ? `${so}; the first one stops the rollout`
    : `${so}; more than ${max.toLocaleString("en")} stop the rollout`;
}

function partsOf({ peels, counts, gone = 0 }: ShownWave): DrawnWave["parts"] {
  const known = Object.entries(counts ?? {}).filter(([, count]) => count > 0);
  const all = [
    ...known.map(([word, count]) => ({ word, count, outcome: outcomeOf(word) })),
    ...(gone === 0 ? [] : [{ word: "left the fleet", count: gone, outcome: "skipped" as const }]),
  ].toSorted((one, other) => outcomes.indexOf(one.outcome) - outcomes.indexOf(other.outcome));
  const sum = Math.max(peels.length, 1);
  let from = 0;
  return all.map((part) => {
    const start = from;
    from += part.count / sum;
    return { ...part, from: start, to: from };
  });
}

function stateOf(wave: ShownWave, status: ShownRollout["status"]): DrawnWave["state"] {
  if (wave.ended_at !== undefined) return "done";
  if (wave.begun_at !== undefined) return "running";
  return status === "running" || status === "paused" ? "ahead" : "never";
}

function gateOf(wave: ShownWave, next: ShownWave, status: ShownRollout["status"]): Gate {
  if (next.begun_at !== undefined) return "passed";
  if (wave.begun_at === undefined) return status === "running" || status === "paused" ? "ahead" : "closed";
  if (status === "paused") return "held";
  return status === "running" ? "ahead" : "closed";
}
