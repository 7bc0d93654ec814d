import { approveCommand, denyCommand } from "./decide.ts";
import { listCommand } from "./list.ts";
import { showCommand } from "./show.ts";

export const approvalCommands = [listCommand, showCommand, approveCommand, denyCommand];
