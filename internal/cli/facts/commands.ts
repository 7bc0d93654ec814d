import { getCommand } from "./get.ts";

export const factsCommands = [getCommand];
