export { type StateRegistry, stateRegistry } from "./registry.ts";
