import { usualWidth, wrapText } from "../../base/lines/wrap.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { JobView } from "../../fleet/jobs/mod.ts";
import { indent } from "../../program/answers/mod.ts";
import { formatTable } from "../../program/command-line/mod.ts";
import type { AnswerOptions, Answers } from "./answers.ts";
import { outcomeWord, peelCount } from "./counts.ts";
import { cellOf, type Group, groupAnswers, namesOf } from "./group.ts";

/** Lines of a table of answers: more would not help people, and go to a file with `--full` or `--output jsonl`. */
const maxLines = 2_000;
/** Names below a group. More are not read, and are in `--output json`. */
const maxNames = 1_000;

/**
 * What the targets answered, for people: one line per answer with the peels that gave it, and below it, indented,
 * what does not fit on one. Of peels that did not end well all are named: they are what is worked on next.
 */
export function formatReturns(
  view: Pick<JobView, "jid" | "targets" | "outcomes" | "returns" | "not_connected">,
  answers: Answers,
  {
    width = usualWidth,
    ...options
  }: { color: boolean; width?: number; now: number } & Pick<AnswerOptions, "full">,
): string {
  const all = groupAnswers(view, answers, options);
  const groups = options.full === true ? all : lastGroups(all, width);
  const rows = groups.map((group) => [headOf(group), group.outcome, cellOf(group)]);
  const [head = "", ...lines] = formatTable(
    { "PEEL ID": "word", OUTCOME: "state", RETURN: "word" },
    rows,
    options,
  ).split("\n");
  const below = (group: Group | undefined) =>
    group === undefined ? [] : indent(indent([...namesBelow(group, width), ...detailsOf(group, view.jid)]));
  const isFolded = groups.some((group) => !isNamed(group) && namesOf(group.peels).folded);
  const leftOut = all.slice(0, all.length - groups.length);
  return [
    head,
    ...(leftOut.length === 0 ? [] : [leftOutLine(leftOut, view.jid)]),
    ...lines.flatMap((line, i) => [line, ...below(groups[i])]),
    ...(isFolded ? [`… each peel in a row of its own: svc job show ${view.jid} --full`] : []),
  ].join("\n");
}

/** The groups that are shown: those that did not end well are the last ones. */
function lastGroups(groups: readonly Group[], width: number): readonly Group[] {
  let lines = 0;
  const first = groups.findLastIndex((group) => {
    const { answer } = group;
    lines += 1 + namesBelow(group, width).length + answer.lines.length + (answer.more > 0 ? 1 : 0);
    return lines > maxLines;
  });
  // The last one is shown in any case.
  return groups.slice(Math.min(first + 1, groups.length - 1));
}

function leftOutLine(groups: readonly Group[], jid: string): string {
  const peels = groups.reduce((sum, one) => sum + one.peels.length, 0);
  const bad = groups.reduce((sum, one) => sum + (one.outcome.startsWith("ok") ? 0 : one.peels.length), 0);
  const failed = bad === 0 ? "" : `, ${bad} of them not ok`;
  return `… the answers of ${peels.toLocaleString("en")} peels${failed}: svc job show ${jid} --full`;
}

/** Whether each peel of a group is named: those that ended, and not well, and those that are away. */
const isNamed = ({ outcome }: Group) => !outcome.startsWith("ok") && outcome !== outcomeWord("pending");

/** The text in the column of the peels: of a group whose names follow below it, only how many. */
function headOf(group: Group): string {
  const { text, folded } = namesOf(group.peels);
  return folded && isNamed(group) ? peelCount(group.peels.length) : text;
}

/** The names of a group that did not end well, where they do not fit next to its outcome. */
function namesBelow(group: Group, width: number): string[] {
  const { peels } = group;
  if (!isNamed(group) || !namesOf(peels).folded) return [];
  const named = peels.slice(0, maxNames).map(displayPeelId).join(", ");
  const more = peels.length - maxNames;
  return wrapText(more > 0 ? `${named} and ${more} more` : named, width - 4);
}

/** The lines of an answer, and how to see the others. */
function detailsOf({ answer, peels: [peel = ""] }: Group, jid: string): string[] {
  const { lines, more, isTail } = answer;
  if (more === 0) return [...lines];
  const hint = `… ${more} more ${more === 1 ? "line" : "lines"}: svc job show ${jid} --peel ${displayPeelId(peel)}`;
  return isTail ? [hint, ...lines] : [...lines, hint];
}
