import { abortCommand } from "./abort.ts";
import { listCommand } from "./list.ts";
import { pauseCommand } from "./pause.ts";
import { resumeCommand } from "./resume.ts";
import { showCommand } from "./show.ts";
import { startCommand } from "./start.ts";
import { watchCommand } from "./watch.ts";

export const rolloutCommands = [
  startCommand,
  listCommand,
  showCommand,
  watchCommand,
  pauseCommand,
  resumeCommand,
  abortCommand,
];
