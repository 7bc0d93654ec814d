import { listCommand } from "./list.ts";
import { showCommand } from "./show.ts";

export const peelsCommands = [listCommand, showCommand];
