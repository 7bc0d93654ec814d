import { SvcError } from "../../base/errors.ts";
import { command, flag, word } from "../../program/command-line/mod.ts";
import { checkArg, turnsOf } from "../check-args.ts";
import { printFindings } from "../print-findings.ts";
import { checkKinds, requestKinds } from "../request-kinds.ts";

export const lintCommand = command({
  name: "lint",
  description:
    "Check settings files as masters check them before they use them, and show where facts choose.",
  examples: ["svc settings lint ./settings", "svc settings lint ./settings --check compile"],
  args: {
    dir: word("Directory of the settings files", { required: true }),
    check: checkArg,
    "strict-facts": flag("Refuse what facts choose, as settings.strict_facts of masters"),
  },
  async run(args, cli) {
    const { readTree } = await import("../../tree/settings/mod.ts");
    const { compileSettingsForKinds, createSettingsCheck } = await import("../../tree/check/mod.ts");
    const tree = readTree(args.dir);
    if (tree.files.size === 0) {
      const problem = "does not exist or contains no settings files (*.sls)";
      throw new SvcError("bad_request", `${args.dir}: ${problem}`);
    }
    const strictFacts = args["strict-facts"] === true;
    const turns = turnsOf(cli);
    const found = await createSettingsCheck(turns).check(tree, { strictFacts, all: true });
    const compile = async () =>
      compileSettingsForKinds(tree, await requestKinds(cli), { strictFacts, turns });
    await printFindings(cli, "settings", args.check === "compile" ? await checkKinds(found, compile) : found);
  },
});
