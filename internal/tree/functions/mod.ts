export { environmentOf, timeoutOf } from "./command/command-args.ts";
export { type StateRegistry, stateRegistry } from "./registry.ts";
