import { recoveryKeyCommand } from "./recovery-key.ts";
import { succeedCommand } from "./succeed.ts";

export const fleetCommands = [succeedCommand, recoveryKeyCommand];
