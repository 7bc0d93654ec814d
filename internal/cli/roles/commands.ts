import { lintCommand } from "./lint.ts";
import { showCommand } from "./show.ts";

export const rolesCommands = [showCommand, lintCommand];
