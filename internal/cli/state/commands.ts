import { lintCommand } from "./lint.ts";
import { renderCommand } from "./render.ts";

/** The commands of `svc state`, which need no master and no bus. */
export const stateCommands = [lintCommand, renderCommand];
