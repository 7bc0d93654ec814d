import { approveCommand } from "./approve.ts";
import { listCommand } from "./list.ts";
import { rejectCommand } from "./reject.ts";
import { revokeCommand } from "./revoke.ts";
import { showCommand } from "./show.ts";
import { straysCommand } from "./strays.ts";

export const enrollCommands = [
  listCommand,
  showCommand,
  approveCommand,
  rejectCommand,
  revokeCommand,
  straysCommand,
];
