import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { command, visible, word } from "../../program/command-line/mod.ts";
import { dataDir, readConfigFile } from "../../program/config/mod.ts";
import { printLint } from "../print-lint.ts";

export const lintCommand = command({
  name: "lint",
  description: "Check a roles file, offline.",
  examples: ["svc roles lint roles.yaml"],
  args: {
    file: word("The roles file (default: roles.yaml in the data directory of a master)", { required: false }),
  },
  async run({ file }, cli) {
    const { notesOn, readRoles } = await import("../../fleet/roles/mod.ts");
    const path = file ?? join(dataDir(cli.env), "roles.yaml");
    const text = readConfigFile(path);
    if (text === undefined) throw new SvcError("not_found", `${path}: no such file: name the roles file`);
    const problems: string[] = [];
    let warnings: readonly string[] = [];
    try {
      warnings = notesOn(readRoles(text, path).book);
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      problems.push(thrown.message);
    }
    await printLint(cli, "roles", { checked: 1, problems, warnings }, (problem) => [visible(problem)]);
  },
});
