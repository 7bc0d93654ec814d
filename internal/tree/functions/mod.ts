export { environmentOf, timeoutOf } from "./command-args.ts";
export { type StateRegistry, stateRegistry } from "./registry.ts";
