import { driftCommand } from "./drift.ts";
import { showCommand } from "./show.ts";
import { statusCommand } from "./status.ts";

export const statesCommands = [statusCommand, driftCommand, showCommand];
