import { backupCommand } from "./backup.ts";
import { lintCommand } from "./lint.ts";
import { restoreCommand } from "./restore.ts";
import { verifyCommand } from "./verify.ts";

/** The commands of `svc bus`. */
export const busCommands = [backupCommand, lintCommand, restoreCommand, verifyCommand];
