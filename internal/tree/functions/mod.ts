export { environmentOf, timeoutOf } from "./command/command-args.ts";
export { type StateRegistry, stateRegistry } from "./registry.ts";
export { treePath } from "./sources/source.ts";
