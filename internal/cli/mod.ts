export { completionScript } from "./completion/command.ts";
export { runCli } from "./run.ts";
export { tree } from "./tree.ts";
