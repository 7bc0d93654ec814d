import { explainCommand } from "./explain.ts";
import { lintCommand } from "./lint.ts";
import { showCommand } from "./show.ts";

/** The commands of `svc settings`. `lint` needs neither a master nor the bus. */
export const settingsCommands = [showCommand, explainCommand, lintCommand];
