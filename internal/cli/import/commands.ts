import { saltCommand } from "./salt.ts";

/** The commands of `svc import`. They do not need a master or the bus. */
export const importCommands = [saltCommand];
