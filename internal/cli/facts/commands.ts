import { countCommand } from "./count.ts";
import { findCommand } from "./find.ts";
import { getCommand } from "./get.ts";
import { historyCommand } from "./history.ts";

export const factsCommands = [getCommand, findCommand, countCommand, historyCommand];
