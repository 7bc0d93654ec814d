import { addCommand } from "./add.ts";
import { administratorsCommand } from "./administrators.ts";
import { adoptCommand } from "./adopt.ts";
import { disableCommand, enableCommand, removeCommand, renewCommand, rolesCommand } from "./change.ts";
import { listCommand, showCommand } from "./list.ts";

export const operatorCommands = [
  addCommand,
  listCommand,
  showCommand,
  disableCommand,
  enableCommand,
  removeCommand,
  rolesCommand,
  renewCommand,
  administratorsCommand,
  adoptCommand,
];
