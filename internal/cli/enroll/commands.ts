import { approveCommand } from "./approve.ts";
import { clearCloneCommand } from "./clear-clone.ts";
import { discardCommand } from "./discard.ts";
import { expectedCommands } from "./expected/commands.ts";
import { expectCommand } from "./expected/expect.ts";
import { labelCommand } from "./label.ts";
import { listCommand } from "./list.ts";
import { policyCommands } from "./policy/commands.ts";
import { rejectCommand } from "./reject.ts";
import { restoreCommand } from "./restore.ts";
import { resumeCommand } from "./resume.ts";
import { revokeCommand } from "./revoke.ts";
import { showCommand } from "./show.ts";
import { straysCommand } from "./strays.ts";
import { suspendCommand } from "./suspend.ts";
import { tokenCommand } from "./token/commands.ts";

export const enrollCommands = [
  listCommand,
  showCommand,
  approveCommand,
  rejectCommand,
  revokeCommand,
  labelCommand,
  tokenCommand,
  expectCommand,
  expectedCommands,
  policyCommands,
  suspendCommand,
  resumeCommand,
  clearCloneCommand,
  straysCommand,
  restoreCommand,
  discardCommand,
];
