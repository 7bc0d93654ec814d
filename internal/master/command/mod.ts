export { masterCommands, runMasterCommand } from "./command.ts";
