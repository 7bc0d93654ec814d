import { lintCommand } from "./lint.ts";
import { renderCommand } from "./render.ts";
import { schemaCommand } from "./schema.ts";

/** The commands of `svc state`. They do not need a master or the bus. */
export const stateCommands = [lintCommand, renderCommand, schemaCommand];
