import { join } from "node:path";
import { command, visible, word } from "../../../program/command-line/mod.ts";
import { dataDir } from "../../../program/config/mod.ts";
import { printLint } from "../../print-lint.ts";

export const lintCommand = command({
  name: "lint",
  description: "Check a policy file, offline.",
  examples: ["svc enroll policy lint enroll-policy.yaml"],
  args: {
    file: word("The policy file (default: enroll-policy.yaml in the data directory of a master)", {
      required: false,
    }),
  },
  async run({ file }, cli) {
    const { lintPolicy } = await import("../../../fleet/policy/mod.ts");
    const { problems, warnings } = lintPolicy(file ?? join(dataDir(cli.env), "enroll-policy.yaml"));
    await printLint(cli, "policy", { checked: 1, problems, warnings }, (problem) => [visible(problem)]);
  },
});
