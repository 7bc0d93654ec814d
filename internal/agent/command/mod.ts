export { peelCommands } from "./call.ts";
export { runPeelCommand } from "./command.ts";
