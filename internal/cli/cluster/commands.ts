import { addCommand } from "./add.ts";
import { addSiteCommand } from "./add-site.ts";
import { checkCommand } from "./check.ts";
import { removeCommand } from "./remove.ts";
import { removeSiteCommand } from "./remove-site.ts";
import { statusCommand } from "./status.ts";

/** The commands of `svc cluster`. */
export const clusterCommands = [
  ...[statusCommand, checkCommand, addCommand, removeCommand],
  ...[addSiteCommand, removeSiteCommand],
];
