import { succeedCommand } from "./succeed.ts";

export const fleetCommands = [succeedCommand];
