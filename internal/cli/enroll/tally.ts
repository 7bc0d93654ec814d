import { namesOf } from "../../base/names/peel-id.ts";
import type { EnrollmentSummary } from "../../fleet/enrollment/record/mod.ts";
import type { Outcome } from "./decide-all.ts";

/** What is known of an enrollment that is decided on. */
export interface Item {
  id: string;
  /** Encoded; empty when it is not listed. */
  peel_id: string;
  trust?: EnrollmentSummary["trust"];
}

/** What became of many enrollments, each in one of the lists. */
export interface Tally {
  done: Item[];
  /** Other operators must agree. */
  waiting: (Item & { approval: string; needs: number })[];
  leftOut: Item[];
  /** Selected, and decided by another operator before this run came to it. */
  meanwhile: Item[];
  failed: (Item & { error: string })[];
  /** Not begun, or the answer is missing, as the run ended early. */
  open: Item[];
}

/**
 * Sorts what became of each.
 *
 * @param leftOut what was left out before; what a master finds mismatched is added, unless it was named
 * @param named those that were named: what is no longer in a state to be decided on is an error for these alone
 */
export function tally<T>(
  items: readonly Item[],
  outcomes: ReadonlyMap<string, Outcome<T>>,
  leftOut: readonly EnrollmentSummary[],
  named: ReadonlySet<string>,
): Tally {
  const result: Tally = {
    done: [],
    waiting: [],
    leftOut: leftOut.map(itemOf),
    meanwhile: [],
    failed: [],
    open: [],
  };
  for (const listed of items) {
    const item = itemOf(listed);
    const outcome = outcomes.get(item.id);
    if (outcome === undefined) result.open.push(item);
    else if (outcome.kind === "done") result.done.push(item);
    else if (outcome.kind === "waiting") {
      const { approval, needs } = outcome.waiting;
      result.waiting.push({ ...item, approval, needs });
    } else if (outcome.error.kind === "trust_mismatch" && !named.has(item.id)) {
      result.leftOut.push({ ...item, trust: "MISMATCH!" });
    } else if (outcome.error.kind === "invalid_transition" && !named.has(item.id)) {
      result.meanwhile.push(item);
    } else result.failed.push({ ...item, error: outcome.error.message });
  }
  return result;
}

const itemOf = ({ id, peel_id, trust }: Item): Item => ({
  id,
  ...namesOf(peel_id),
  ...(trust === undefined ? {} : { trust }),
});

/** The counts in one line: `approved 12, left out 1, failed 2`; what is zero is not said, except the first. */
export function formatTally(
  { done, waiting, leftOut, meanwhile, failed, open }: Tally,
  word: string,
): string {
  const others = [
    [`wait for other operators`, waiting],
    ["left out", leftOut],
    ["decided by others meanwhile", meanwhile],
    ["failed", failed],
    ["not begun", open],
  ] as const;
  const said = others.filter(([, list]) => list.length > 0).map(([name, list]) => `${list.length} ${name}`);
  return [`${done.length} ${word}`, ...said].join(", ");
}

/** The same for programs: the counts, and each enrollment with its outcome. */
export function toData(result: Tally, word: string) {
  const { done, waiting, leftOut, meanwhile, failed, open } = result;
  const as = (outcome: string, list: readonly Item[]) => list.map((item) => ({ ...item, outcome }));
  return {
    counts: {
      [word]: done.length,
      waiting: waiting.length,
      left_out: leftOut.length,
      decided_meanwhile: meanwhile.length,
      failed: failed.length,
      not_begun: open.length,
    },
    enrollments: [
      ...as(word, done),
      ...as("waiting", waiting),
      ...as("left_out", leftOut),
      ...as("decided_meanwhile", meanwhile),
      ...as("failed", failed),
      ...as("not_begun", open),
    ],
  };
}
