import type { approvalOperations } from "../../fleet/approvals/mod.ts";
import { visible } from "../../program/command-line/mod.ts";
import { contentWords } from "../../wire/content-words.ts";
import { peelCount } from "../job/counts.ts";
import type { AnswerTo } from "../request.ts";

type Shown = AnswerTo<typeof approvalOperations.getApproval>["approval"];
type Changes = NonNullable<Shown["changes"]>[number];

/** How the files of a request differ from what its peels ran last. */
export function formatChanges({
  changes = [],
  changes_left_out: more = 0,
}: Pick<Shown, "changes" | "changes_left_out">): string {
  const left = more === 0 ? [] : [`${more} more groups of peels, which ran other files, are not compared`];
  return [...changes.map(formatGroup), ...left].join("\n\n");
}

function formatGroup(group: Changes): string {
  const { peels, such_as, problem, added, changed, removed, files, left_out, diff } = group;
  const names = such_as.map(visible).join(", ");
  const head = `${peelCount(peels)}, ${peels > such_as.length ? "such as " : ""}${names}: ${lastText(group)}`;
  if (problem !== undefined) return `${head}\n  not compared: ${visible(problem)}`;
  if (added + changed + removed === 0) return `${head}\n  the same files`;
  const lines = files.map(({ change, path }) => `  ${change} ${visible(path)}`);
  return [
    head,
    `  ${added} new, ${changed} changed, ${removed} removed`,
    ...lines,
    ...(left_out === 0 ? [] : [`  and ${left_out} more files`]),
    ...(diff === undefined ? [] : [diff.trimEnd()]),
  ].join("\n");
}

function lastText({ last, ...files }: Changes): string {
  switch (last) {
    case "never_ran":
      return "never ran";
    case "test_only":
      return "ran only a test last, so all files are shown";
    case "unknown":
      return "it is not known what they ran last, so all files are shown";
    default:
      return `ran ${contentWords(files)}`;
  }
}
