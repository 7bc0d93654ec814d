import { encodePeelId } from "../../base/names/peel-id.ts";
import { textLines } from "../../program/answers/mod.ts";
import { command, visible, word } from "../../program/command-line/mod.ts";
import { headline, type StateProblem } from "../../tree/function/mod.ts";
import { printLint } from "../print-lint.ts";
import { readSubject, subjectArgs } from "./subject.ts";

export const lintCommand = command({
  name: "lint",
  description: "Check all state files of a directory and its top file, and show all problems.",
  examples: ["svc state lint ./states", "svc state lint ./states --salt-compat salt"],
  args: {
    dir: word("Directory of the state files", { required: true }),
    ...subjectArgs,
  },
  async run(args, cli) {
    const { createDirectorySource } = await import("../../tree/files/mod.ts");
    const { lintStates } = await import("../../tree/language/mod.ts");
    const subject = await readSubject(args, cli);
    const files = createDirectorySource(args.dir);
    const id = typeof subject.facts.id === "string" ? subject.facts.id : cli.hostname;
    const found = await lintStates({ ...subject, files, peelId: encodePeelId(id) });
    await printLint<StateProblem>(cli, "state", found, linesOf);
  },
});

function linesOf({ excerpt, ...problem }: StateProblem): string[] {
  return [visible(headline(problem)), ...(excerpt === undefined ? [] : textLines(excerpt))];
}
