import { sha256Hex } from "../../base/sha256.ts";
import type { ShownValue } from "../../program/answers/mod.ts";
import type { JobReturn } from "../../wire/return.ts";
import { type Folded, foldLine, foldLines } from "./fold.ts";
import { showReturn } from "./show-return.ts";

/** Characters of whole answers that are kept; later ones are folded. */
const maxWhole = 64 * 1024 * 1024;
/** Characters of folded answers that are kept, of those that ended well and of the others: more is shown of none. */
const maxFolded = 8 * 1024 * 1024;

/** How answers are shown, as flags say. */
export interface AnswerOptions {
  /** Of runs of states only the counts, and what failed. */
  terse?: boolean;
  /** Each peel in a row of its own, and its answer whole. */
  full?: boolean;
  /** Whether the answer of a job on one peel is folded too, as what it wrote was shown already. */
  wasShown?: () => boolean;
}

/** An answer as it is shown, the same for all peels that gave it. */
export interface Answer extends Folded {
  /** Equal for equal answers. */
  key: string;
  /** Without the duration of a run of states. */
  cell: string;
  /** Whether the lines that were left out come before those that are shown. */
  isTail: boolean;
}

/** The answer of one peel. */
export interface Answered {
  answer: Answer;
  /** How long a run of states took, milliseconds. */
  durationMs?: number;
}

/** What the peels of a job answered, in the form in which it is shown. */
export interface Answers {
  take(peel: string, returned: Pick<JobReturn, "success" | "error" | "return">, targets: number): void;
  of(peel: string): Answered | undefined;
}

/**
 * Keeps what is shown of each answer, and equal answers once: a job of 10,000 peels may return more than fits into
 * memory.
 */
export function createAnswers({
  terse = false,
  full = false,
  wasShown = () => false,
}: AnswerOptions = {}): Answers {
  const byKey = new Map<string, Answer>();
  const byPeel = new Map<string, Answered>();
  let kept = 0;
  const folds = { first: 0, last: 0 };
  return {
    take(peel, returned, targets) {
      const shown = showReturn(returned, { terse });
      const cell = shown.states?.counts ?? shown.cell;
      const key = keyOf(cell, shown.details);
      let answer = byKey.get(key);
      if (answer === undefined) {
        const isWhole = (full || (targets === 1 && !wasShown())) && kept < maxWhole;
        const side = returned.success ? "first" : "last";
        const hasRoom = folds[side] < maxFolded;
        const folded = isWhole ? { lines: shown.details, more: 0 } : foldAnswer(shown, side, hasRoom);
        answer = { key, cell: isWhole ? cell : foldLine(cell), ...folded, isTail: side === "last" };
        byKey.set(key, answer);
        for (const line of answer.lines) {
          kept += line.length;
          if (!isWhole) folds[side] += line.length;
        }
      }
      const durationMs = shown.states?.durationMs;
      byPeel.set(peel, { answer, ...(durationMs === undefined ? {} : { durationMs }) });
    },
    of: (peel) => byPeel.get(peel),
  };
}

/** What failed is shown before what was changed. */
function foldAnswer({ details, states }: ShownValue, side: "first" | "last", hasRoom: boolean): Folded {
  if (!hasRoom) return { lines: [], more: details.length };
  const folded = foldLines(details, side);
  if (folded.more === 0 || states === undefined || states.failures.length === 0) return folded;
  const failures = foldLines(states.failures, "first");
  return { lines: failures.lines, more: details.length - failures.lines.length };
}

/** An answer may be long: its digest stands for it. */
export function keyOf(cell: string, details: readonly string[]): string {
  return sha256Hex(JSON.stringify([cell, details]));
}
