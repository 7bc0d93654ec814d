import { SvcError } from "../../base/errors.ts";
import { command, flag, word } from "../../program/command-line/mod.ts";
import { turnsOf } from "../check-args.ts";
import { printFindings } from "../print-findings.ts";

export const lintCommand = command({
  name: "lint",
  description:
    "Check settings files as masters check them before they use them, and show where facts choose.",
  examples: ["svc settings lint ./settings", "svc settings lint ./settings --strict-facts"],
  args: {
    dir: word("Directory of the settings files", { required: true }),
    "strict-facts": flag("Refuse what facts choose, as settings.strict_facts of masters"),
  },
  async run(args, cli) {
    const { readTree } = await import("../../tree/settings/mod.ts");
    const { createSettingsCheck } = await import("../../tree/check/mod.ts");
    const tree = readTree(args.dir);
    if (tree.files.size === 0) {
      const problem = "does not exist or contains no settings files (*.sls)";
      throw new SvcError("bad_request", `${args.dir}: ${problem}`);
    }
    const strictFacts = args["strict-facts"] === true;
    const found = await createSettingsCheck(turnsOf(cli)).check(tree, { strictFacts, all: true });
    await printFindings(cli, "settings", found);
  },
});
