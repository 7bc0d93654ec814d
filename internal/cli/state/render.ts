import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { textLines } from "../../program/answers/mod.ts";
import { command, Exit, value, word } from "../../program/command-line/mod.ts";
import { formatProblems, StateErrors } from "../../tree/function/mod.ts";
import { readSubject, subjectArgs } from "./subject.ts";

export const renderCommand = command({
  name: "render",
  description: "Render one state file or template as a run would, and show the result.",
  examples: ["svc state render ./states/nginx/init.sls --facts web-1.yaml"],
  args: {
    file: word("File in a directory of state files", { required: true }),
    root: value("dir", "Directory of the state files (default: the nearest parent directory with a top.sls)"),
    ...subjectArgs,
  },
  async run(args, cli) {
    const { createDirectorySource } = await import("../../tree/files/mod.ts");
    const { renderAlone } = await import("../../tree/language/mod.ts");
    const file = resolve(args.file);
    const root = args.root === undefined ? rootOf(file) : resolve(args.root);
    const path = relative(root, file);
    if (path === "" || path.startsWith("..")) {
      throw new SvcError("usage", `<file>: ${args.file} is not in the directory ${args.root}`);
    }
    const subject = await readSubject(args, cli);
    try {
      const text = await renderAlone(path, { ...subject, files: createDirectorySource(root) });
      await cli.print({ file: path, text }, () => text);
    } catch (thrown) {
      if (!(thrown instanceof StateErrors)) throw thrown;
      cli.error(textLines(formatProblems(thrown.problems)).join("\n"));
      throw new Exit(1);
    }
  },
});

/** The directory of the nearest top.sls, or the directory of the file when there is none. */
function rootOf(file: string): string {
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    if (existsSync(join(directory, "top.sls"))) return directory;
    if (directory === dirname(directory)) return dirname(file);
  }
}
