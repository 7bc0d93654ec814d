import { displayPeelId } from "../../base/peel-id.ts";
import type { JobView, Outcome } from "../../fleet/jobs/mod.ts";
import { indent } from "../../program/answers/mod.ts";
import { formatTable } from "../../program/command-line/mod.ts";
import { outcomeWord } from "./counts.ts";
import { showReturn } from "./show-return.ts";

/**
 * What each target answered, for people: one line per peel, and below it, indented, what does not fit on
 * one. Those that did not end well come last, where the eye is when it is over.
 */
export function formatReturns(
  view: Pick<JobView, "targets" | "outcomes" | "returns">,
  options: { color: boolean },
): string {
  const outcomeOf = (peel: string): Outcome => view.outcomes[peel] ?? "pending";
  const peels = [
    ...view.targets.filter((peel) => outcomeOf(peel) === "ok"),
    ...view.targets.filter((peel) => outcomeOf(peel) !== "ok"),
  ];
  const shown = peels.map((peel) => ({ peel, ...showReturn(outcomeOf(peel), view.returns[peel]) }));
  const outcomeCell = (peel: string) =>
    `${outcomeWord(outcomeOf(peel))}${view.returns[peel]?.late ? " (late)" : ""}`;
  const rows = shown.map(({ peel, cell }) => [displayPeelId(peel), outcomeCell(peel), cell]);
  const [head = "", ...lines] = formatTable(["PEEL ID", "OUTCOME", "RETURN"], rows, options).split("\n");
  return [head, ...lines.flatMap((line, i) => [line, ...indent(indent(shown[i]?.details ?? []))])].join("\n");
}
