import { SvcError } from "../../../base/errors.ts";
import { cutWaves, parseSize, peelsOf } from "../../../fleet/rollout/mod.ts";

// The planner of masters, in a file of the bundle that only the form of a rollout loads.

/** The sizes of a rollout as they are typed. */
export interface TypedSizes {
  canary: string;
  /** One, or several with commas between them. */
  waves: string;
  max_failures: string;
}

/** How many peels each wave has, and how many may fail; or what is wrong, by field. */
export type Plan =
  | { waves: number[]; maxFailures: number }
  | { problems: Partial<Record<keyof TypedSizes, string>> };

/** Plans the waves of a rollout as a master does. @param all number of peels */
export function planWaves(all: number, typed: TypedSizes): Plan {
  const problems: Partial<Record<keyof TypedSizes, string>> = {};
  const read = <T>(field: keyof TypedSizes, by: () => T): T | undefined => {
    try {
      return by();
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      problems[field] = thrown.message.replace(/^waves: /, "");
      return undefined;
    }
  };
  const canary = read("canary", () => parseSize(typed.canary.trim()));
  const sizes = read("waves", () => sizesOf(typed.waves).map(parseSize));
  const max = read("max_failures", () => parseSize(typed.max_failures.trim()));
  const bounds =
    canary === undefined || sizes === undefined
      ? undefined
      : read("waves", () => cutWaves(all, canary, sizes));
  if (bounds === undefined || max === undefined) return { problems };
  const waves = bounds.map((end, index) => end - (bounds[index - 1] ?? 0));
  return { waves, maxFailures: peelsOf(max, all, "down") };
}

/** `10%, 25%` as a request has it. */
export const sizesOf = (text: string): string[] => text.split(/[\s,]+/).filter((size) => size !== "");

/** `5 waves: 1, then 3 of 25, then 9`: waves of the same size are named together. */
export function wavesInWords(waves: readonly number[]): string {
  const runs: { size: number; times: number }[] = [];
  for (const size of waves) {
    const last = runs.at(-1);
    if (last?.size === size) last.times++;
    else runs.push({ size, times: 1 });
  }
  const all = `${waves.length.toLocaleString("en")} ${waves.length === 1 ? "wave" : "waves"}`;
  if (runs.length === 1) return `${all} of ${(waves[0] ?? 0).toLocaleString("en")}`;
  const words = runs.map(({ size, times }) => {
    const peels = size.toLocaleString("en");
    return times === 1 ? peels : `${times.toLocaleString("en")} of ${peels}`;
  });
  return `${all}: ${words.join(", then ")}`;
}
