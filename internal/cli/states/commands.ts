import { driftCommand } from "./drift.ts";
import { releaseCommand } from "./release.ts";
import { releasesCommand } from "./releases.ts";
import { showCommand } from "./show.ts";
import { statusCommand } from "./status.ts";

export const statesCommands = [statusCommand, driftCommand, showCommand, releaseCommand, releasesCommand];
