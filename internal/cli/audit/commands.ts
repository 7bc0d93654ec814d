import { exportCommand } from "./export.ts";
import { listCommand } from "./list.ts";
import { showCommand } from "./show.ts";
import { verifyCommand } from "./verify.ts";

/** The commands of `svc audit`. */
export const auditCommands = [listCommand, showCommand, exportCommand, verifyCommand];
