import { displayPeelId } from "../../base/names/peel-id.ts";
import type { JobView } from "../../fleet/jobs/mod.ts";
import type { Outcome } from "../../fleet/jobs/records/mod.ts";
import { seconds } from "../../program/answers/mod.ts";
import { type Answer, type Answers, keyOf } from "./answers.ts";
import { outcomeWord } from "./counts.ts";
import { pendingWord } from "./pending.ts";
import { showSilence } from "./show-return.ts";

/** Width of the names of a group; the first two are named in any case. */
const widestNames = 40;

/** Peels that are shown together: with the same outcome and the same answer. */
export interface Group {
  /** Encoded ids. */
  peels: string[];
  /** `ok (late)` */
  outcome: string;
  answer: Answer;
  /** The shortest and the longest run of states, milliseconds. */
  durations?: { min: number; max: number };
}

/**
 * Puts equal answers together. Those that did not end well come last, where the eye is when it is over; otherwise
 * the order is that of the targets.
 *
 * @param options.full a group for each peel
 * @param options.now milliseconds since the Unix epoch, for the time since which a peel is away
 */
export function groupAnswers(
  view: Pick<JobView, "targets" | "outcomes" | "returns" | "not_connected">,
  answers: Answers,
  { full = false, now }: { full?: boolean; now: number },
): Group[] {
  const groups = new Map<string, Group>();
  const outcomeOf = (peel: string): Outcome => view.outcomes[peel] ?? "pending";
  const ordered = [
    ...view.targets.filter((peel) => outcomeOf(peel) === "ok"),
    ...view.targets.filter((peel) => outcomeOf(peel) !== "ok"),
  ];
  for (const peel of ordered) {
    const word = pendingWord(peel, view, now) ?? outcomeWord(outcomeOf(peel));
    const outcome = `${word}${view.returns[peel]?.late ? " (late)" : ""}`;
    const answered = answers.of(peel) ?? { answer: silent(outcomeOf(peel)) };
    const { answer, durationMs } = answered;
    const key = full ? peel : `${outcome} ${answer.key}`;
    const group = groups.get(key) ?? { peels: [], outcome, answer };
    group.peels.push(peel);
    if (durationMs !== undefined) {
      const { min, max } = group.durations ?? { min: durationMs, max: durationMs };
      group.durations = { min: Math.min(min, durationMs), max: Math.max(max, durationMs) };
    }
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** The line of a group. */
export function cellOf({ answer, durations }: Pick<Group, "answer" | "durations">): string {
  if (durations === undefined) return answer.cell;
  const [min, max] = [seconds(durations.min), seconds(durations.max)];
  return `${answer.cell} (${min === max ? max : `${min} to ${max}`} s)`;
}

/** `web-1`, `3 peels: web-1, web-2, web-3` or `12 peels: web-1, web-2, …` */
export function namesOf(peels: readonly string[]): { text: string; folded: boolean } {
  const [only = ""] = peels;
  if (peels.length === 1) return { text: displayPeelId(only), folded: false };
  let text = `${peels.length} peels: ${displayPeelId(only)}`;
  let shown = 1;
  for (const peel of peels.slice(1)) {
    const longer = `${text}, ${displayPeelId(peel)}`;
    if (longer.length > widestNames && shown > 1) break;
    text = longer;
    shown++;
  }
  return shown === peels.length ? { text, folded: false } : { text: `${text}, …`, folded: true };
}

function silent(outcome: Outcome): Answer {
  const { cell } = showSilence(outcome);
  return { key: keyOf(cell, []), cell, lines: [], more: 0, isTail: false };
}
