import { lintCommand } from "./lint.ts";
import { resetCommand } from "./reset.ts";
import { rulesCommand } from "./rules.ts";
import { statusCommand } from "./status.ts";
import { testCommand } from "./test.ts";

export const reactorCommands = [statusCommand, rulesCommand, resetCommand, testCommand, lintCommand];
