import { group } from "../../../program/command-line/mod.ts";
import { explainCommand } from "./explain.ts";
import { lintCommand } from "./lint.ts";
import { testCommand } from "./test.ts";

export const policyCommands = group({
  name: "policy",
  description: "Show everything that admits hosts; check and test a policy file.",
  commands: () => [explainCommand, testCommand, lintCommand],
});
