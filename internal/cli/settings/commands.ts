import { lintCommand } from "./lint.ts";

/** The commands of `svc settings`. They do not need a master or the bus. */
export const settingsCommands = [lintCommand];
