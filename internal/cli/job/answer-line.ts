import { displayPeelId } from "../../base/names/peel-id.ts";
import type { JobView, SeenReturn } from "../../fleet/jobs/mod.ts";
import type { Outcome } from "../../fleet/jobs/records/mod.ts";

/** The answer of one peel as data: a line of `--output jsonl`. */
export interface AnswerLine extends Partial<Omit<SeenReturn, "outcome">> {
  jid: string;
  /** As people write it. */
  peel: string;
  /** Encoded. */
  peel_id: string;
  outcome: Outcome;
}

export function answerLine(
  jid: string,
  peel: string,
  outcome: Outcome,
  returned: SeenReturn | undefined,
): AnswerLine {
  const { outcome: _, ...rest }: Partial<SeenReturn> = returned ?? {};
  return { jid, peel: displayPeelId(peel), peel_id: peel, outcome, ...rest };
}

/** A line for each target, in their order. */
export function answerLines(view: Pick<JobView, "jid" | "targets" | "outcomes" | "returns">): AnswerLine[] {
  return view.targets.map((peel) =>
    answerLine(view.jid, peel, view.outcomes[peel] ?? "pending", view.returns[peel]),
  );
}
