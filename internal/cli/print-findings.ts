import { textLines } from "../program/answers/mod.ts";
import { type Cli, Exit, visible } from "../program/command-line/mod.ts";
import { type Checked, type Finding, headlineOf } from "../tree/check/mod.ts";

/** Something that was found, with the lines around it where they are known. */
export type ShownFinding = Finding & { excerpt?: string };

/** What a check of a directory found, and what is shown of it. */
export interface ShownCheck extends Checked {
  problems: readonly ShownFinding[];
  hints: readonly ShownFinding[];
}

/**
 * Prints what a check found: problems as the result, hints in addition.
 *
 * @param kind of the files: `state`
 * @throws Exit 1 when there is a problem
 */
export async function printFindings(
  cli: Cli,
  kind: string,
  { checked, problems, hints }: ShownCheck,
): Promise<void> {
  const count = `${checked} ${kind} ${checked === 1 ? "file" : "files"}`;
  await cli.print({ checked, problems, hints }, () =>
    problems.length === 0
      ? `${count}: no problems${hintCount(hints.length)}`
      : problems.flatMap(linesOf).join("\n"),
  );
  for (const hint of hints) cli.say(`hint: ${linesOf(hint).join("\n")}`);
  if (problems.length === 0) return;
  cli.say(`${count}: ${problems.length} ${problems.length === 1 ? "problem" : "problems"}`);
  throw new Exit(1);
}

/** Without it, the last line would say that nothing is wrong with a file that a hint above names. */
function hintCount(hints: number): string {
  return hints === 0 ? "" : `, ${hints} ${hints === 1 ? "hint" : "hints"}`;
}

function linesOf({ excerpt, ...finding }: ShownFinding): string[] {
  return [visible(headlineOf(finding)), ...(excerpt === undefined ? [] : textLines(excerpt))];
}
