import type { ListedPeel } from "../../api/mod.ts";
import { type Outcome, outcomeOf } from "../../kit/outcome.ts";

/** Which peels a list shows. */
export const showValues = ["all", "alive", "silent", "failed", "drifted"] as const;
export type Show = (typeof showValues)[number];

type Standing = Pick<ListedPeel, "alive" | "last_run">;

export function isShown({ alive, last_run: run }: Standing, show: Show): boolean {
  switch (show) {
    case "all":
      return true;
    case "alive":
      return alive;
    case "silent":
      return !alive;
    default:
      return run?.status === show;
  }
}

/** How many there are of each. */
export function countsOf(peels: readonly Standing[]): Record<Show, number> {
  const counts = { all: 0, alive: 0, silent: 0, failed: 0, drifted: 0 };
  for (const peel of peels) {
    for (const show of showValues) if (isShown(peel, show)) counts[show]++;
  }
  return counts;
}

/** How the states of a peel stand: of a silent one that was so when it last reported, which claims nothing about now. */
export function statesOf({ alive, last_run: run }: Standing): { word: string; outcome: Outcome } {
  const word = run?.status ?? "never";
  if (alive || run === undefined) return { word, outcome: outcomeOf(word) };
  return { word: `was ${word}`, outcome: "lost" };
}
