import { command, visible, word } from "../../program/command-line/mod.ts";
import { printLint } from "../print-lint.ts";

export const lintCommand = command({
  name: "lint",
  description: "Show each place of a directory of settings files where a fact chooses what a peel gets.",
  examples: ["svc settings lint ./settings"],
  args: {
    dir: word("Directory of the settings files", { required: true }),
  },
  async run(args, cli) {
    const { lintSettings } = await import("../../tree/settings/mod.ts");
    await printLint(cli, "settings", lintSettings(args.dir), (problem) => [visible(problem)]);
  },
});
