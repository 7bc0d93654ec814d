import { command, visible, word } from "../../program/command-line/mod.ts";
import { printLint } from "../print-lint.ts";

export const lintCommand = command({
  name: "lint",
  description: "Show each place of a directory of rule files where an event decides what a rule does.",
  examples: ["svc reactor lint /srv/fleet/reactor"],
  args: {
    dir: word("Directory of the rule files", { required: true }),
  },
  async run(args, cli) {
    const { lintRules } = await import("../../fleet/reactor/rules/mod.ts");
    await printLint(cli, "rule", lintRules(args.dir), (problem) => [visible(problem)]);
  },
});
