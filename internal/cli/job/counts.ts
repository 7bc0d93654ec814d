import { type Outcome, outcomes } from "../../fleet/jobs/records/mod.ts";
import type { ShownContent } from "../../wire/content.ts";
import type { ShownReleased } from "../../wire/released-content.ts";

/** Number of targets with each outcome; absent means 0. */
export type Counts = Partial<Record<Outcome, number>>;

/** `12 peels`, `1 peel` */
export function peelCount(count: number): string {
  return `${count} ${count === 1 ? "peel" : "peels"}`;
}

/** What a master answers to a dispatch request. */
export interface Dispatched {
  jid: string;
  /** Encoded peel ids. */
  targets: readonly string[];
  /** How many of them are not connected now. */
  away: number;
  /** The state files that it runs, if it runs any. */
  content?: ShownContent;
  /** What its peels run that obey operators only, where that differs. */
  released?: ShownReleased;
  /** Where to see the values that it hides; absent where they are sealed to the operator. */
  hint?: string;
}

/** `12 peels, 2 of them not connected` */
export function jobSize({ targets, away }: Dispatched): string {
  const all = peelCount(targets.length);
  if (away === 0) return all;
  return `${all}, ${targets.length === 1 ? "not connected" : `${away} of them not connected`}`;
}

/** `10 ok`, `1 failed`, in the order of the outcomes; what has not ended is `waiting`, and comes last. */
export function countWords(counts: Counts): string[] {
  const ended = outcomes.filter((outcome) => outcome !== "pending");
  return [...ended, "pending" as const]
    .filter((outcome) => (counts[outcome] ?? 0) > 0)
    .map((outcome) => `${counts[outcome]} ${outcomeWord(outcome)}`);
}

/** The word for people: a target that has not ended is `waiting`. */
export function outcomeWord(outcome: Outcome): string {
  return outcome === "pending" ? "waiting" : outcome;
}

/** `12 peels: 10 ok, 1 failed, 1 offline` */
export function summaryLine(counts: Counts): string {
  return `${peelCount(total(counts))}: ${countWords(counts).join(", ") || "none"}`;
}

/** The counts of several jobs together. */
export function addCounts(all: readonly Counts[]): Counts {
  const sum: Counts = {};
  for (const counts of all) {
    for (const outcome of outcomes) {
      const more = counts[outcome] ?? 0;
      if (more > 0) sum[outcome] = (sum[outcome] ?? 0) + more;
    }
  }
  return sum;
}

/** How many targets there are. */
export function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
