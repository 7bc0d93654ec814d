import { cancelCommand } from "./cancel.ts";
import { listCommand } from "./list.ts";
import { showCommand } from "./show.ts";
import { watchCommand } from "./watch.ts";

export const jobCommands = [listCommand, showCommand, watchCommand, cancelCommand];
