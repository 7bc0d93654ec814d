import { addCommand } from "./add.ts";
import { checkCommand } from "./check.ts";
import { removeCommand } from "./remove.ts";
import { statusCommand } from "./status.ts";

/** The commands of `svc cluster`. */
export const clusterCommands = [statusCommand, checkCommand, addCommand, removeCommand];
