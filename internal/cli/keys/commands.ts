import { finishCommand } from "./finish.ts";
import { rotateCommand } from "./rotate.ts";
import { statusCommand } from "./status.ts";

/** The commands of `svc keys`. */
export const keysCommands = [statusCommand, rotateCommand, finishCommand];
