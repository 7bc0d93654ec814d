import { encodePeelId } from "../../base/peel-id.ts";
import { atLine } from "../../base/place.ts";
import { textLines } from "../../program/answers/mod.ts";
import { command, Exit, visible } from "../../program/command-line/mod.ts";
import type { StateProblem } from "../../tree/function/mod.ts";
import { readSubject, subjectArgs } from "./subject.ts";

export const lintCommand = command({
  name: "lint",
  description: "Check all state files of a directory and its top file, and show all problems.",
  args: {
    dir: { type: "positional", required: true, description: "Directory of the state files" },
    ...subjectArgs,
  },
  async run(args, cli) {
    const { createDirectorySource } = await import("../../tree/files/mod.ts");
    const { lintStates } = await import("../../tree/language/mod.ts");
    const subject = await readSubject(args, cli);
    const files = createDirectorySource(args.dir);
    const id = typeof subject.facts.id === "string" ? subject.facts.id : cli.hostname;
    const { checked, problems } = await lintStates({ ...subject, files, peelId: encodePeelId(id) });
    const count = `${checked} state ${checked === 1 ? "file" : "files"}`;
    await cli.print({ checked, problems }, () =>
      problems.length === 0 ? `${count}: no problems` : problems.flatMap(linesOf).join("\n"),
    );
    if (problems.length === 0) return;
    cli.say(`${count}: ${problems.length} ${problems.length === 1 ? "problem" : "problems"}`);
    throw new Exit(1);
  },
});

function linesOf({ file, line, message, excerpt }: StateProblem): string[] {
  const place = file === undefined ? "" : `${atLine(file, line)}: `;
  return [visible(`${place}${message}`), ...(excerpt === undefined ? [] : textLines(excerpt))];
}
