import { createCommand } from "./create.ts";
import { listCommand } from "./list.ts";
import { printCommand } from "./print.ts";
import { revokeCommand } from "./revoke.ts";

export const tokenCommands = [createCommand, listCommand, printCommand, revokeCommand];
