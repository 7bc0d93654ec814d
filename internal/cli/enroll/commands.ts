import { approveCommand } from "./approve.ts";
import { discardCommand } from "./discard.ts";
import { listCommand } from "./list.ts";
import { rejectCommand } from "./reject.ts";
import { restoreCommand } from "./restore.ts";
import { revokeCommand } from "./revoke.ts";
import { showCommand } from "./show.ts";
import { vouchCommand } from "./vouch.ts";

export const enrollCommands = [
  listCommand,
  showCommand,
  approveCommand,
  rejectCommand,
  revokeCommand,
  restoreCommand,
  discardCommand,
  vouchCommand,
];
