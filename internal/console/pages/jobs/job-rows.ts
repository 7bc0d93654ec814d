import { defined } from "../../../base/defined.ts";
import { displayPeelId } from "../../../base/names/peel-id.ts";
import { answerLine } from "../../answers/mod.ts";
import type { routes } from "../../api/mod.ts";

/** A job with the returns of its peels. */
export type ShownJob = NonNullable<(typeof routes.getJob)["types"]>["answer"];
export type JobOutcome = ShownJob["outcomes"][string];
/** A return that the stream of events reported before the job was read again. */
export interface Reported {
  outcome: JobOutcome;
  error?: string;
}

/** What a job did on one peel. */
export interface JobRow {
  peelId: string;
  /** With dots. */
  peel: string;
  outcome: JobOutcome;
  durationMs?: number;
  /** The beginning of what it returned, or why it could not. */
  text: string;
}

type Outcomes = Pick<ShownJob, "targets" | "outcomes" | "returns">;

/** From what a row was made. */
interface Made {
  outcome: JobOutcome;
  answer: ShownJob["returns"][string] | undefined;
  early: Reported | undefined;
  row: JobRow;
}

/**
 * The peels of a job, in the order of their ids. What masters stored takes precedence over what was reported. It is called for
 * each change: the row of a peel whose outcome and return are the same stays the same object.
 */
export function createRows(): (job: Outcomes, reported: ReadonlyMap<string, Reported>) => JobRow[] {
  let made = new Map<string, Made>();
  return ({ targets, outcomes, returns }, reported) => {
    const next = new Map<string, Made>();
    for (const peelId of targets) {
      const stored = outcomes[peelId] ?? "pending";
      const early = stored === "pending" ? reported.get(peelId) : undefined;
      const outcome = early?.outcome ?? stored;
      const answer = returns[peelId];
      const before = made.get(peelId);
      const isSame = before?.outcome === outcome && before.answer === answer && before.early === early;
      next.set(
        peelId,
        isSame ? before : { outcome, answer, early, row: rowOf(peelId, outcome, answer, early) },
      );
    }
    made = next;
    return [...next.values()].map(({ row }) => row);
  };
}

function rowOf(peelId: string, outcome: JobOutcome, answer: Made["answer"], early: Made["early"]): JobRow {
  return {
    ...{ peelId, peel: displayPeelId(peelId), outcome },
    ...defined({ durationMs: answer?.duration_ms }),
    text: answerLine(answer ?? early ?? {}),
  };
}

/** How many peels there are of each outcome. */
export function countsOf(rows: readonly JobRow[]): Map<JobOutcome, number> {
  const counts = new Map<JobOutcome, number>();
  for (const { outcome } of rows) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return counts;
}

/** In which order they need a look. */
const ranks: readonly JobOutcome[] = ["failed", "lost", "timeout", "busy", "offline", "cancelled", "pending"];
const rankOf = ({ outcome }: JobRow): number => {
  const rank = ranks.indexOf(outcome);
  return rank < 0 ? ranks.length : rank;
};

/** The rows with those first that did not end well; equal ones stay in their order. */
export const failedFirst = (rows: readonly JobRow[]): JobRow[] =>
  rows.toSorted((one, other) => rankOf(one) - rankOf(other));

const again: readonly JobOutcome[] = ["failed", "busy", "offline", "timeout", "lost"];

/** Those on which it is worth another try: they failed, or were not there. */
export const toTryAgain = (rows: readonly JobRow[]): JobRow[] =>
  rows.filter(({ outcome }) => again.includes(outcome));

/** The outcome that an event about a return names; an event of another form has none. */
export function reportedBy(data: Readonly<Record<string, unknown>>): Reported | undefined {
  const { outcome, error } = data;
  const known = (["ok", "failed", "busy", "timeout", "lost", "cancelled"] as const).find(
    (one) => one === outcome,
  );
  if (known === undefined) return undefined;
  return { outcome: known, ...(typeof error === "string" ? { error } : {}) };
}
