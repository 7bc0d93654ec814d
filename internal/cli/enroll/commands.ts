import { approveCommand } from "./approve.ts";
import { listCommand } from "./list.ts";
import { rejectCommand } from "./reject.ts";
import { resumeCommand } from "./resume.ts";
import { revokeCommand } from "./revoke.ts";
import { showCommand } from "./show.ts";
import { suspendCommand } from "./suspend.ts";

export const enrollCommands = [
  listCommand,
  showCommand,
  approveCommand,
  rejectCommand,
  revokeCommand,
  suspendCommand,
  resumeCommand,
];
